//! The files that people name.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::api::yaml::{self, YamlError};
use crate::api::{ProbePolicy, read_policy};
use crate::local::Script;
use crate::scenario::{Scenario, ScenarioFile};

/// A policy and the scenario to run it on.
#[derive(Debug, Args)]
pub struct Input {
    /// A file with a ProbePolicy
    policy: PathBuf,
    /// A file with a scenario: the fleet and what happens to it
    scenario: PathBuf,
    /// What is random in the scenario comes out by this number; the same number, the same run [default: 0]
    #[arg(long)]
    seed: Option<u64>,
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

    /// The scenario, as the seed has it.
    pub fn scenario(&self) -> Result<Scenario, YamlError> {
        Ok(ScenarioFile::read(&self.scenario)?.seeded(self.seed()))
    }

    /// What the seed is, or that it does not matter: a line, if there is anything to say.
    pub fn remark(&self, scenario: &Scenario) -> String {
        match (scenario.is_random(), self.seed) {
            (true, seed) => format!("Seed {}.\n", seed.unwrap_or_default()),
            (false, Some(_)) => "The scenario leaves nothing to chance, so --seed changes nothing.\n".to_owned(),
            (false, None) => String::new(),
        }
    }

    /// The scenario, as the seed has it, for processes.
    pub fn script(&self) -> Result<Script, YamlError> {
        let (file, text) = (self.scenario.display().to_string(), yaml::read_text(&self.scenario)?);
        let scenario = ScenarioFile::parse(&file, &text)?.seeded(self.seed());
        Script::new(scenario, &text).map_err(|error| yaml::refuse(&file, &text, &error.path, &error.sentence))
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_default()
    }

    /// Both, for people.
    pub fn title(&self) -> String {
        format!("{} on {}", self.policy.display(), self.scenario.display())
    }
}
