//! Settings of a lesson on processes of this machine: each on processes of its own, which are gone afterwards.

use std::num::NonZeroU32;

use indicatif::MultiProgress;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::{LessonError, NoPlan};
use crate::api::ProbePolicySpec;
use crate::engine::Phase;
use crate::local::{self, Experiment, Listing, PacedPolicy, Program, Run, Script};
use crate::report::Recording;
use crate::scenario::{Scenario, Speed};

/// A setting, as it is to be measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    title: String,
    experiment: Experiment,
}

/// What measurements at the same time share.
pub struct Machine<'a> {
    program: Program,
    bars: MultiProgress,
    stop: &'a CancellationToken,
}

impl<'a> Machine<'a> {
    /// This machine, until `stop`.
    ///
    /// # Errors
    /// If the system does not tell which file this program is.
    pub fn new(stop: &'a CancellationToken) -> Result<Self, LessonError> {
        Ok(Self { program: Program::own().map_err(LessonError::Program)?, bars: MultiProgress::new(), stop })
    }
}

impl Measurement {
    /// A setting of that title: a script and a policy, at a speed.
    ///
    /// # Errors
    /// If the policy makes no sense, or the speed is too high for it.
    pub fn new(title: String, script: Script, spec: &ProbePolicySpec, speed: Speed) -> Result<Self, NoPlan> {
        let parsed = spec.parse(1, Phase::Spread).map_err(LessonError::from)?;
        let policy = match PacedPolicy::new(&parsed, speed) {
            Ok(policy) => policy,
            Err(error) => return Err(NoPlan::TooFast { speed, setting: title, error }),
        };
        Ok(Self { title, experiment: Experiment { script, policy, seed: 0, speed, listing: Listing::Followed } })
    }

    /// The same, with requests that go to those who were there in the beginning.
    pub fn with_fixed_list(mut self) -> Self {
        self.experiment.listing = Listing::Fixed;
        self
    }

    /// Its title; of a run that was cut short also for how long it ran.
    pub fn title_of(&self, run: &Run) -> String {
        if self.is_whole(run) { self.title.clone() } else { format!("{} ({} turns)", self.title, run.turns) }
    }

    /// Whether a run went to its end.
    pub fn is_whole(&self, run: &Run) -> bool {
        run.turns == self.scenario().turns()
    }

    /// The scenario, as it is written, as far as a run went; none if that is no turn.
    pub fn scenario_of(&self, run: &Run) -> Option<Scenario> {
        Some(self.scenario().clone().first(NonZeroU32::new(run.turns)?))
    }

    /// Runs it, with a bar. Told to stop, it ends early.
    pub async fn run(&self, machine: &Machine<'_>) -> Result<(Run, Recording), LessonError> {
        let progress = Progress::new(&machine.bars, &self.title, self.scenario());
        progress.phase("running".to_owned());
        let mut watchers = (progress, Recording::of(&self.scenario().clone().at_speed(self.experiment.speed)));
        // Nobody edits the policy of a lesson.
        let (_, edits) = mpsc::unbounded_channel();
        match local::run(&self.experiment, &machine.program, edits, &mut watchers, machine.stop).await {
            Ok(run) => {
                let (progress, recording) = watchers;
                run.remark.iter().for_each(|remark| progress.note(remark));
                let recording = recording.with_losses_of(&run);
                Ok((run, recording))
            }
            Err(error) => Err(LessonError::LocalRun { setting: self.title.clone(), error: Box::new(error) }),
        }
    }

    fn scenario(&self) -> &Scenario {
        self.experiment.script.scenario()
    }
}
