//! What the health endpoint looks at: five policies for one scenario. Their files are what people read and apply.

use clap::ValueEnum;
use serde::Serialize;

use super::tables::{self, COLUMNS};
use crate::api::ProbePolicy;
use crate::api::yaml::{self, YamlError};
use crate::fake_app::load::TruthLine;
use crate::lesson::LessonError;
use crate::lesson::cluster_world::Observation;
use crate::lesson::comparison::Choice;
use crate::local::{self, Rejected, Run};
use crate::model::Traffic;
use crate::report::Cell;
use crate::scenario::{RequestKind, Scenario, TrueState};

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

impl Choice for Content {
    const LESSON: &'static str = "depth";
    const SCENARIO: &'static str = include_str!("../../../lessons/depth/scenario.yaml");
    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn title(self) -> &'static str {
        self.name()
    }

    fn name(self) -> &'static str {
        self.name()
    }

    fn policy(self) -> Result<ProbePolicy, YamlError> {
        self.policy()
    }

    fn in_model(self, scenario: &Scenario) -> Result<Vec<Cell>, LessonError> {
        tables::modelled(scenario, self)
    }

    fn on_processes(self, run: &Run) -> Vec<Cell> {
        tables::columns(self, &run.traffic(), run.out_of_pool())
    }

    fn on_pods(self, scenario: &Scenario, seen: &Observation) -> Vec<Cell> {
        let out_of_pool = seen.truths.iter().map(|truth| scenario.replicas().saturating_sub(truth.pool) as u64).sum();
        tables::columns(self, &traffic(seen), out_of_pool)
    }
}

impl Content {
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

/// What became of the requests on a cluster.
fn traffic(seen: &Observation) -> Traffic {
    let mut traffic = Traffic::default();
    for request in &seen.requests {
        let mut looks = seen.truths.iter().filter(|truth| truth.turn == request.turn);
        let rejected = if looks.any(somebody_could_read) { Rejected::InVain } else { Rejected::Rightly };
        traffic.add(&local::traffic(request, rejected));
    }
    let lost = seen.summary.lost_writes.as_ref().map_or(0, Vec::len);
    traffic.kinds[RequestKind::Write].lost_silently = lost as u64;
    traffic
}

fn somebody_could_read(truth: &TruthLine) -> bool {
    truth.states.values().any(|state| matches!(state, Some(TrueState::Healthy | TrueState::HalfDown)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Handler;
    use crate::engine::{Phase, RuleKind};

    #[test]
    fn every_content_is_the_name_of_its_policy_of_its_endpoint_and_on_the_command_line() {
        for content in Content::value_variants() {
            let policy = content.policy().unwrap();
            assert_eq!(policy.metadata.name.as_deref(), Some(content.name()));
            assert_eq!(content.to_possible_value().unwrap().get_name(), content.name());
            let asks = policy.spec.parse(1, Phase::Spread).unwrap().asks;
            match &asks[RuleKind::Readiness].as_ref().unwrap().handler {
                Handler::Http(get) => assert_eq!(get.path()[1..], *content.name()),
                Handler::Tcp(_) | Handler::Grpc(_) | Handler::Exec(_) => panic!("{} asks no path", content.name()),
            }
        }
    }
}
