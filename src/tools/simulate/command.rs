//! The command line of a simulation.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;

use super::table::{self, Recorded, Row};
use super::trace::{Trace, TraceForm};
use crate::api::yaml::{self, YamlError};
use crate::api::{ParsedPolicy, policy_from_str};
use crate::engine::{Mode, Phase, Time};
use crate::model::{self, Observer, Run};
use crate::report::{Delivery, NotDelivered, Output, Recording, ignore_closed_pipe};
use crate::scenario::Scenario;
use crate::tools::input::Input;
use crate::tools::outcome::{Columns, Outcome};
use crate::tools::{NoPlan, ToolError};

/// A policy, a scenario, and what to show.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    input: Input,
    /// Run this policy too, print by how much it differs, and where the decisions of the two part
    #[arg(long, value_name = "POLICY", conflicts_with = "trace")]
    compare: Option<PathBuf>,
    /// Run the policy's probes under the kubelet alone too, and print the same of it
    #[arg(long, conflicts_with_all = ["compare", "trace"])]
    kubelet: bool,
    /// Print everything that happens first: every attempt, verdict and decision with its sentence [default form: text]
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    trace: Option<TraceForm>,
    #[command(flatten)]
    delivery: Delivery,
}

/// A simulation that makes sense.
#[derive(Debug)]
pub struct SimulatePlan {
    title: String,
    remarks: String,
    scenario: Scenario,
    policy: Candidate,
    other: Option<Candidate>,
    trace: Option<TraceForm>,
    delivery: Delivery,
}

/// A policy that can be run on the scenario.
#[derive(Debug)]
struct Candidate {
    name: String,
    policy: ParsedPolicy,
    prober: Prober,
}

/// Who asks what the policy says, and acts on it.
#[derive(Clone, Copy, Debug)]
enum Prober {
    Controller,
    /// Only what a probe can say, and nobody else.
    Kubelet,
}

impl SimulateArgs {
    /// What is going to be done.
    pub fn plan(self) -> Result<SimulatePlan, NoPlan> {
        let Self { input, compare, kubelet, trace, delivery } = self;
        if trace.is_some() && delivery.printed() != Output::Table {
            return Err(NoPlan::TraceInTheWay);
        }
        let scenario = input.scenario()?;
        let read = |file: &Path, prober| Candidate::read(file, &scenario, prober);
        let policy = read(input.policy_file(), Prober::Controller)?;
        let other = match compare {
            Some(file) => Some(read(&file, Prober::Controller)?),
            None if kubelet => Some(read(input.policy_file(), Prober::Kubelet)?),
            None => None,
        };
        let of_policies = std::iter::once(&policy).chain(&other).map(Candidate::remark);
        let remarks = std::iter::once(input.remark(&scenario)).chain(of_policies).collect();
        Ok(SimulatePlan { title: input.title(), remarks, scenario, policy, other, trace, delivery })
    }
}

impl SimulatePlan {
    /// Does it, and prints the figures after the trace.
    pub fn run(self) -> Result<(), ToolError> {
        let Self { title, remarks, scenario, policy, other, trace: form, delivery } = self;
        let columns = Columns::of(&scenario);
        let report = match (other, form) {
            (Some(other), _) => table::comparison(policy.record(&scenario)?, other.record(&scenario)?, columns)?,
            (None, None) if delivery.form() == Output::Html => table::pictured(policy.record(&scenario)?, columns)?,
            (None, None) => table::single(&policy.run(&scenario)?, columns)?,
            (None, Some(form)) => table::pictured(policy.trace(&scenario, form)?, columns)?,
        };
        let report = report.with_title(title).with_preamble(remarks);
        match form {
            Some(TraceForm::Jsonl) => delivery.deliver_after_lines(&report)?,
            Some(TraceForm::Text) | None => delivery.deliver(&report)?,
        }
        Ok(())
    }
}

impl Candidate {
    /// Reads the policy in a file, if it can be run on the scenario.
    fn read(path: &Path, scenario: &Scenario, prober: Prober) -> Result<Self, YamlError> {
        let (file, text) = (path.display().to_string(), yaml::read_text(path)?);
        let refuse = |path: &str, sentence: &str| yaml::refuse(&file, &text, path, sentence);
        let spec = policy_from_str(&file, &text)?.spec;
        let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO });
        let policy = policy.map_err(|error| refuse(&error.path, &error.sentence))?;
        let (name, checked) = match prober {
            Prober::Controller => (file.clone(), model::check(scenario, &policy)),
            Prober::Kubelet => (format!("{file} under the kubelet"), model::kubelet::check(scenario, &policy)),
        };
        checked.map_err(|error| refuse(&error.path, &error.sentence))?;
        Ok(Self { name, policy, prober })
    }

    fn run(self, scenario: &Scenario) -> Result<Row, ToolError> {
        let run = model::run(scenario, &self.policy)?;
        Ok(self.row(&run))
    }

    /// Runs it and keeps what happened.
    fn record(self, scenario: &Scenario) -> Result<Recorded, ToolError> {
        self.watch(scenario, &mut ())
    }

    /// The same, and prints what happens.
    fn trace(self, scenario: &Scenario, form: TraceForm) -> Result<Recorded, ToolError> {
        let mut trace = Trace::new(form, BufWriter::new(io::stdout().lock()));
        let recorded = self.watch(scenario, &mut trace)?;
        trace.finish().or_else(ignore_closed_pipe).map_err(NotDelivered::Printing)?;
        Ok(recorded)
    }

    fn watch(self, scenario: &Scenario, observer: &mut impl Observer) -> Result<Recorded, ToolError> {
        let mut watchers = (Recording::of(scenario), observer);
        let run = match self.prober {
            Prober::Controller => model::observe(scenario, &self.policy, &mut watchers)?,
            Prober::Kubelet => model::kubelet::observe(scenario, &self.policy, &mut watchers)?,
        };
        Ok(Recorded { row: self.row(&run), recording: watchers.0 })
    }

    fn row(self, run: &Run) -> Row {
        let loss = run.loss.map(|loss| loss.to_string());
        Row { policy: self.name, outcome: Outcome::from(run), loss, would_have: run.would_have }
    }

    /// What people may not expect of a policy that asks nobody: a line, if any. Of one that observes, its row tells.
    fn remark(&self) -> String {
        let Self { name, policy: ParsedPolicy { policy, .. }, prober } = self;
        match (prober, policy.mode) {
            (Prober::Controller, Mode::Enforce | Mode::Observe) => String::new(),
            (Prober::Controller, Mode::Paused) => format!("{name} is paused: it asks nobody.\n"),
            (Prober::Kubelet, _) => {
                let lost = model::kubelet::left_out(policy).join(", ");
                if lost.is_empty() { lost } else { format!("{name} is without what no probe can say: {lost}.\n") }
            }
        }
    }
}
