//! What the health endpoint looks at: five policies for one scenario. Their files are what people read and apply.

use clap::ValueEnum;
use serde::Serialize;

use crate::api::ProbePolicy;
use crate::api::yaml::{self, YamlError};
use crate::scenario::{Scenario, ScenarioFile};

/// What the health endpoint looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// The process answers
    Shallow,
    /// And it can read
    Ready,
    /// And its own way to the store works
    DeepLocal,
    /// And the store is up that all replicas share
    DeepShared,
    /// And everything is up that anybody needs
    DeepAll,
}

/// The text of the scenario that all of them share.
pub const SCENARIO: &str = include_str!("../../../lessons/depth/scenario.yaml");

/// The scenario that all of them share.
pub fn scenario() -> Result<Scenario, YamlError> {
    ScenarioFile::parse("lessons/depth/scenario.yaml", SCENARIO)
}

impl Content {
    /// Every content, each a question deeper than the one before.
    pub const ALL: [Self; 5] = [Self::Shallow, Self::Ready, Self::DeepLocal, Self::DeepShared, Self::DeepAll];

    /// Its name: in the lesson's table, of its file, and of its policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shallow => "shallow",
            Self::Ready => "ready",
            Self::DeepLocal => "deep-local",
            Self::DeepShared => "deep-shared",
            Self::DeepAll => "deep-all",
        }
    }

    /// Its policy, as it stands in its file.
    pub fn policy(self) -> Result<ProbePolicy, YamlError> {
        let text = match self {
            Self::Shallow => include_str!("../../../lessons/depth/settings/shallow.yaml"),
            Self::Ready => include_str!("../../../lessons/depth/settings/ready.yaml"),
            Self::DeepLocal => include_str!("../../../lessons/depth/settings/deep-local.yaml"),
            Self::DeepShared => include_str!("../../../lessons/depth/settings/deep-shared.yaml"),
            Self::DeepAll => include_str!("../../../lessons/depth/settings/deep-all.yaml"),
        };
        yaml::from_str(&format!("lessons/depth/settings/{}.yaml", self.name()), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Handler;
    use crate::engine::{Phase, RuleKind};

    #[test]
    fn every_content_is_the_name_of_its_policy_of_its_endpoint_and_on_the_command_line() {
        for content in Content::ALL {
            let policy = content.policy().unwrap();
            assert_eq!(policy.metadata.name.as_deref(), Some(content.name()));
            assert_eq!(content.to_possible_value().unwrap().get_name(), content.name());
            let asks = policy.spec.parse(1, Phase::Spread).unwrap().asks;
            match &asks[RuleKind::Readiness].as_ref().unwrap().handler {
                Handler::Http(get) => assert_eq!(get.path()[1..], *content.name()),
                Handler::Tcp(_) | Handler::Grpc(_) | Handler::Exec(_) => panic!("{} asks no path", content.name()),
            }
        }
        assert_eq!(Content::value_variants(), Content::ALL);
    }
}
