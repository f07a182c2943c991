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
use crate::local::{self, Experiment, Listing, Program, Run};
use crate::model;
use crate::report::{Delivery, Picture, Recording};
use crate::scenario::{Scenario, Speed};
use crate::tools::input::Input;
use crate::tools::outcome::{Columns, Outcome};
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
        let script = input.script()?;
        let (file, policy, paced) = PolicyFile::open(input.policy_file(), speed)?;
        let experiment = Experiment { script, policy: paced, seed: input.seed(), speed, listing: Listing::Followed };
        Ok(LabPlan { title: input.title(), experiment, policy, file, delivery })
    }
}

impl LabPlan {
    /// Does it, and prints the figures; told to stop, those of the turns that have passed.
    pub async fn run(self, stop: &CancellationToken) -> Result<(), ToolError> {
        let Self { title, experiment, policy, file, delivery } = self;
        let program = Program::own().map_err(ToolError::Program)?;
        let screen = Screen::default();
        let paced = experiment.script.scenario().clone().at_speed(experiment.speed);
        let mut watchers = (Recording::of(&paced), View::new(screen.clone(), paced));
        let (tell_edit, edits) = mpsc::unbounded_channel();
        let following = tokio::spawn(file.follow(tell_edit, screen));
        let run = local::run(&experiment, &program, edits, &mut watchers, stop).await;
        following.abort();
        let (recording, view) = watchers;
        drop(view);

        let (run, total) = (run?, experiment.script.scenario().turns());
        let Some(turns) = NonZeroU32::new(run.turns) else { return Err(ToolError::StoppedAfter { turns: 0, total }) };
        let scenario = experiment.script.scenario().clone().first(turns);
        let (remark, model) = modelled(&run, &scenario, &policy);
        let remarks: String =
            run.remark.clone().into_iter().chain(remark).map(|remark| format!("{remark}\n")).collect();
        let report = Measured::new(Outcome::from(&run), model).report(Columns::of(&scenario))?;
        let report = report.with_preamble(format!("{title}\n{remarks}")).with_title(title);
        let recording = recording.with_losses_of(&run);
        delivery.deliver(&report.with_picture(Picture::Run { name: "measured".to_owned(), recording }))?;
        if turns.get() < total {
            return Err(ToolError::StoppedAfter { turns: turns.get(), total });
        }
        Ok(())
    }
}

/// What the model says of the same turns, or why it says nothing.
fn modelled(run: &Run, scenario: &Scenario, policy: &ParsedPolicy) -> (Option<String>, Option<Outcome>) {
    if run.edits > 0 {
        return (Some(format!("the policy was edited {} times, and the model knows no edits", run.edits)), None);
    }
    match model::run(scenario, policy) {
        Ok(run) => (None, Some(Outcome::from(&run))),
        Err(why) => (Some(format!("not in the model: {why}")), None),
    }
}
