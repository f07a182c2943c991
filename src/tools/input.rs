//! The files that people name.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::api::yaml::YamlError;
use crate::api::{ProbePolicy, read_policy};
use crate::scenario::{Scenario, ScenarioFile};

/// A policy and the scenario to run it on.
#[derive(Debug, Args)]
pub struct Input {
    /// A file with a ProbePolicy
    policy: PathBuf,
    /// A file with a scenario: the fleet and what happens to it
    scenario: PathBuf,
}

impl Input {
    /// The policy's file.
    pub fn policy_file(&self) -> &Path {
        &self.policy
    }

    /// The policy.
    pub fn policy(&self) -> Result<ProbePolicy, YamlError> {
        read_policy(&self.policy)
    }

    /// The scenario.
    pub fn scenario(&self) -> Result<Scenario, YamlError> {
        ScenarioFile::read(&self.scenario)
    }

    /// Both, for people.
    pub fn title(&self) -> String {
        format!("{} on {}", self.policy.display(), self.scenario.display())
    }
}
