//! The rules of the lesson, each with its files, which are what people read and apply.

use clap::ValueEnum;

use crate::api::yaml::YamlError;
use crate::api::{ProbePolicy, policy_from_str};
use crate::scenario::{Scenario, ScenarioFile};

/// A rule that has the whole fleet, or the past of a replica, in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rule {
    /// fleet.breaker: restarts wait while many are suspect
    Breaker,
    /// fleet.dependencies: what fails with a dependency that fails is not the replica's fault
    Dependency,
    /// fleet.sharedFailure and the breaker of a node: who cannot be reached together is not at fault
    Node,
    /// The breaker of a revision: the new one waits, the old one goes on
    Revision,
    /// The same for replicas that do not finish starting
    Startup,
    /// restart.giveUpAfter: restarts that do not help end
    Efficacy,
    /// pool.minReady: the pool is not emptied
    Floor,
    /// heartbeat: who is silent is out
    Heartbeat,
    /// failureWindow: failures count that are not in a row
    Window,
    /// pool.dwell: a least time in the pool, and out of it
    Dwell,
    /// pool.ejectionBackoff: the more ejections, the longer they last
    Ejections,
}

/// Under whom a rule's scenario is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// The policy without the rule.
    Without,
    /// The policy with it.
    With,
    /// The kubelet alone, with the probes of the policy without it.
    Kubelet,
}

/// The name of a rule, the fault of its scenario in some words, the texts of its files, and what its runs are called.
struct Files {
    name: &'static str,
    fault: &'static str,
    scenario: &'static str,
    without: &'static str,
    with: &'static str,
    runs: [&'static str; 3],
}

macro_rules! files {
    ($name:literal, $fault:literal) => {
        Files {
            name: $name,
            fault: $fault,
            scenario: include_str!(concat!("../../../lessons/faults/", $name, "/scenario.yaml")),
            without: include_str!(concat!("../../../lessons/faults/", $name, "/without.yaml")),
            with: include_str!(concat!("../../../lessons/faults/", $name, "/with.yaml")),
            runs: [concat!($name, "-without"), concat!($name, "-with"), concat!($name, "-kubelet")],
        }
    };
}

impl Rule {
    /// Its name: on the command line, and of its folder.
    pub const fn name(self) -> &'static str {
        self.files().name
    }

    /// The fault of its scenario, in some words.
    pub const fn fault(self) -> &'static str {
        self.files().fault
    }

    /// The text of its scenario.
    pub const fn script(self) -> &'static str {
        self.files().scenario
    }

    /// Its scenario.
    pub fn scenario(self) -> Result<Scenario, YamlError> {
        ScenarioFile::parse(&self.file("scenario"), self.script())
    }

    /// The policy that is in force, or whose probes the kubelet asks.
    pub fn policy(self, under: Under) -> Result<ProbePolicy, YamlError> {
        let Files { without, with, .. } = self.files();
        match under {
            Under::With => policy_from_str(&self.file("with"), with),
            Under::Without | Under::Kubelet => policy_from_str(&self.file("without"), without),
        }
    }

    /// What its run is called.
    pub const fn run(self, under: Under) -> &'static str {
        let [without, with, kubelet] = self.files().runs;
        match under {
            Under::Without => without,
            Under::With => with,
            Under::Kubelet => kubelet,
        }
    }

    fn file(self, name: &str) -> String {
        format!("lessons/faults/{}/{name}.yaml", self.name())
    }

    const fn files(self) -> Files {
        match self {
            Self::Breaker => files!("breaker", "a store that only liveness asks is down"),
            Self::Dependency => files!("dependency", "a store that only the probes ask is down"),
            Self::Node => files!("node", "the path to a node is cut"),
            Self::Revision => files!("revision", "a new revision lacks its dependency"),
            Self::Startup => files!("startup", "a new revision never starts"),
            Self::Efficacy => files!("efficacy", "a replica starts too slowly for its rule"),
            Self::Floor => files!("floor", "a store that only readiness asks is down"),
            Self::Heartbeat => files!("heartbeat", "a replica dies without a word"),
            Self::Window => files!("window", "a replica fails every other attempt"),
            Self::Dwell => files!("dwell", "a replica fails every other attempt"),
            Self::Ejections => files!("ejections", "a replica comes and goes"),
        }
    }
}

impl Under {
    /// All, in the order in which people compare them.
    pub const ALL: [Self; 3] = [Self::Without, Self::With, Self::Kubelet];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Without => "without",
            Self::With => "with",
            Self::Kubelet => "kubelet",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_folder_is_a_rule_that_the_command_line_and_its_policies_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons/faults");
        let folders = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let rules = Rule::value_variants();
        assert_eq!(rules.iter().map(|rule| rule.name().to_owned()).collect::<BTreeSet<_>>(), folders.collect());
        for rule in rules {
            assert_eq!(rule.to_possible_value().unwrap().get_name(), rule.name());
            for under in [Under::Without, Under::With] {
                let named = rule.policy(under).unwrap().metadata.name;
                assert_eq!(named, Some(format!("{}-{}", under.name(), rule.name())));
            }
        }
    }
}
