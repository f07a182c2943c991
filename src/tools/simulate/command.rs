//! The command line of a simulation.

use std::path::{Path, PathBuf};

use clap::Args;

use super::table::{self, Row};
use crate::api::{ParsedPolicy, ProbePolicy, read_policy};
use crate::engine::{Mode, Phase, Time};
use crate::model;
use crate::report::{Delivery, Figures};
use crate::scenario::Scenario;
use crate::tools::input::Input;
use crate::tools::{NoPlan, ToolError};

/// A policy, a scenario, and what to show.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    input: Input,
    /// Run this policy too, and print by how much it differs
    #[arg(long, value_name = "POLICY")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    delivery: Delivery,
}

/// A simulation that makes sense.
#[derive(Debug)]
pub struct SimulatePlan {
    title: String,
    scenario: Scenario,
    policy: Candidate,
    other: Option<Candidate>,
    delivery: Delivery,
}

/// A policy that can be run on the scenario.
#[derive(Debug)]
struct Candidate {
    file: String,
    policy: ParsedPolicy,
}

impl SimulateArgs {
    /// What is going to be done.
    pub fn plan(self) -> Result<SimulatePlan, NoPlan> {
        let scenario = self.input.scenario()?;
        let policy = Candidate::new(self.input.policy_file(), self.input.policy()?, &scenario)?;
        let other = match &self.compare {
            Some(file) => Some(Candidate::new(file, read_policy(file)?, &scenario)?),
            None => None,
        };
        Ok(SimulatePlan { title: self.input.title(), scenario, policy, other, delivery: self.delivery })
    }
}

impl SimulatePlan {
    /// Does it, and prints the figures.
    pub fn run(self) -> Result<(), ToolError> {
        let mut preamble = format!("{}\n", self.title);
        let mut rows = Vec::new();
        for Candidate { file, policy } in std::iter::once(&self.policy).chain(&self.other) {
            preamble.push_str(&remark(file, policy.policy.mode));
            rows.push(Row { policy: file, figures: Figures::from(&model::run(&self.scenario, policy)?) });
        }
        let report = match &rows[..] {
            [row, other] => table::comparison(row, other)?,
            rows => table::runs(rows)?,
        };
        Ok(self.delivery.deliver(&report.with_preamble(preamble))?)
    }
}

impl Candidate {
    fn new(file: &Path, policy: ProbePolicy, scenario: &Scenario) -> Result<Self, NoPlan> {
        let file = file.display().to_string();
        let parsed = policy.spec.parse(1, Phase::Aligned { origin: Time::ZERO });
        let policy = parsed.map_err(|why| NoPlan::Policy { file: file.clone(), why })?;
        model::check(scenario, &policy).map_err(|why| NoPlan::Model { file: file.clone(), why })?;
        Ok(Self { file, policy })
    }
}

/// What people may not expect of a policy that is not enforced.
fn remark(file: &str, mode: Mode) -> String {
    match mode {
        Mode::Enforce => String::new(),
        Mode::Observe => format!("{file} only observes: it restarts nobody and ejects nobody\n"),
        Mode::Paused => format!("{file} is paused: it asks nobody\n"),
    }
}
