//! The lesson on processes of this machine. Every setting runs on processes of its own, which are gone afterwards.

use std::num::NonZeroU32;

use indicatif::MultiProgress;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tables::{self, Comparison};
use super::{Setting, settings};
use crate::engine::Phase;
use crate::lesson::progress::Progress;
use crate::lesson::{LessonError, NoPlan};
use crate::local::{self, Experiment, PacedPolicy, Program, Run};
use crate::report::{Figures, Recording};
use crate::scenario::{Scenario, Speed};

/// A setting, as it is to be measured.
#[derive(Clone, Debug)]
pub struct Trial {
    setting: Setting,
    experiment: Experiment,
}

impl Trial {
    /// A setting at a speed.
    ///
    /// # Errors
    /// If the speed is too high for its policy.
    pub fn new(setting: Setting, scenario: &Scenario, speed: Speed) -> Result<Self, NoPlan> {
        let policy = setting.policy().map_err(LessonError::from)?.spec.parse(1, Phase::Spread);
        let policy = PacedPolicy::new(&policy.map_err(LessonError::from)?, speed).map_err(|error| NoPlan::TooFast {
            speed,
            setting: setting.title(),
            error,
        })?;
        let (scenario, script) = (scenario.clone(), settings::SCENARIO.to_owned());
        Ok(Self { setting, experiment: Experiment { scenario, script, policy, speed } })
    }

    /// Measures it so often, and compares the median with the model. Told to stop before the first run is over, it
    /// compares the turns that have passed, if any, with as many turns of the model.
    pub async fn measure(
        &self,
        program: &Program,
        runs: u32,
        bars: &MultiProgress,
        stop: &CancellationToken,
    ) -> Result<Option<Comparison>, LessonError> {
        let (mut measured, mut latest) = (Vec::new(), None);
        for _ in 0..runs {
            let (run, recording) = self.run(program, bars, stop).await?;
            if run.turns < self.experiment.scenario.turns() {
                if measured.is_empty() {
                    return Ok(self.compare_part(&run)?.map(|part| part.with_recording(recording)));
                }
                break;
            }
            measured.push(Figures::from(&run));
            latest = Some(recording);
        }
        Ok(self.compare(&measured)?.zip(latest).map(|(whole, latest)| whole.with_recording(latest)))
    }

    async fn run(
        &self,
        program: &Program,
        bars: &MultiProgress,
        stop: &CancellationToken,
    ) -> Result<(Run, Recording), LessonError> {
        let Experiment { scenario, speed, .. } = &self.experiment;
        let progress = Progress::new(bars, self.setting, scenario.turns());
        progress.phase("running".to_owned());
        let mut watchers = (progress, Recording::of(&scenario.clone().at_speed(*speed)));
        // Nobody edits the policy of a lesson.
        let (_, edits) = mpsc::unbounded_channel();
        let run = local::run(&self.experiment, program, edits, &mut watchers, stop).await;
        let run = run.map_err(|error| LessonError::LocalRun { setting: self.setting, error: Box::new(error) })?;
        Ok((run, watchers.1))
    }

    fn compare(&self, measured: &[Figures]) -> Result<Option<Comparison>, LessonError> {
        let model = self.modelled(&self.experiment.scenario)?;
        Ok(Figures::median(measured).map(|measured| Comparison::new(self.setting.title().to_owned(), model, measured)))
    }

    fn compare_part(&self, run: &Run) -> Result<Option<Comparison>, LessonError> {
        let Some(turns) = NonZeroU32::new(run.turns) else { return Ok(None) };
        let model = self.modelled(&self.experiment.scenario.clone().first(turns))?;
        let title = format!("{} ({turns} turns)", self.setting.title());
        Ok(Some(Comparison::new(title, model, Figures::from(run))))
    }

    fn modelled(&self, scenario: &Scenario) -> Result<Figures, LessonError> {
        tables::modelled(scenario, &self.setting.policy()?.spec)
    }
}
