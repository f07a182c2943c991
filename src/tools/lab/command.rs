//! The command line of a lab.

use std::num::NonZeroU32;

use clap::Args;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::edits::PolicyFile;
use super::screen::Screen;
use super::table::Measured;
use super::view::View;
use crate::api::ParsedPolicy;
use crate::local::{self, Experiment, Program, Run};
use crate::model;
use crate::report::{Delivery, Figures, Picture, Recording};
use crate::scenario::{Scenario, Speed};
use crate::tools::input::Input;
use crate::tools::{NoPlan, ToolError};

/// A policy, a scenario, and how fast to run them.
#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(flatten)]
    input: Input,
    /// Divide every duration of scenario and policy
    #[arg(long, default_value_t = Speed::REAL)]
    speed: Speed,
    #[command(flatten)]
    delivery: Delivery,
}

/// A lab that makes sense.
#[derive(Debug)]
pub struct LabPlan {
    title: String,
    experiment: Experiment,
    policy: ParsedPolicy,
    file: PolicyFile,
    delivery: Delivery,
}

impl LabArgs {
    /// What is going to be done.
    pub fn plan(self) -> Result<LabPlan, NoPlan> {
        let Self { input, speed, delivery } = self;
        let (scenario, script) = input.script()?;
        let (file, policy, paced) = PolicyFile::open(input.policy_file(), speed)?;
        let experiment = Experiment { scenario, script, policy: paced, speed };
        Ok(LabPlan { title: input.title(), experiment, policy, file, delivery })
    }
}

impl LabPlan {
    /// Does it, and prints the figures; told to stop, those of the turns that have passed.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), ToolError> {
        let Self { title, experiment, policy, file, delivery } = self;
        let program = Program::own().map_err(ToolError::Program)?;
        let screen = Screen::default();
        let paced = experiment.scenario.clone().at_speed(experiment.speed);
        let mut watchers = (Recording::of(&paced), View::new(screen.clone(), paced));
        let (tell_edit, edits) = mpsc::unbounded_channel();
        let following = tokio::spawn(file.follow(tell_edit, screen));
        let run = local::run(&experiment, &program, edits, &mut watchers, stop).await;
        following.abort();
        let (recording, view) = watchers;
        drop(view);

        let (run, total) = (run?, experiment.scenario.turns());
        let Some(turns) = NonZeroU32::new(run.turns) else { return Err(ToolError::StoppedAfter { turns: 0, total }) };
        let (remark, model) = modelled(&run, experiment.scenario.first(turns), &policy);
        let report = Measured::new(Figures::from(&run), model).report()?;
        let report = report.with_preamble(format!("{title}\n{remark}")).with_title(title);
        delivery.deliver(&report.with_picture(Picture::Run { name: "measured".to_owned(), recording }))?;
        if turns.get() < total {
            return Err(ToolError::StoppedAfter { turns: turns.get(), total });
        }
        Ok(())
    }
}

/// What the model says of the same turns, or why it says nothing.
fn modelled(run: &Run, scenario: Scenario, policy: &ParsedPolicy) -> (String, Option<Figures>) {
    if run.edits > 0 {
        return (format!("the policy was edited {} times, and the model knows no edits\n", run.edits), None);
    }
    match model::run(&scenario, policy) {
        Ok(run) => (String::new(), Some(Figures::from(&run))),
        Err(why) => (format!("not in the model: {why}\n"), None),
    }
}
