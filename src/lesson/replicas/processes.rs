//! The lesson on processes of this machine.

use std::num::NonZeroU32;

use tokio_util::sync::CancellationToken;

use super::tables;
use super::{Setting, settings};
use crate::lesson::measured::{Measured, repeated};
use crate::lesson::processes::{Machine, Trial};
use crate::lesson::{LessonError, NoPlan};
use crate::local::{Run, Script};
use crate::report::{Compared, Figures, Recording};
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials {
    trials: Vec<(Setting, Trial)>,
    runs: NonZeroU32,
}

impl Trials {
    /// Settings at a speed, each run so often.
    ///
    /// # Errors
    /// If the speed is too high for one of their policies.
    pub fn new(settings: &[Setting], scenario: &Scenario, speed: Speed, runs: NonZeroU32) -> Result<Self, NoPlan> {
        let script = Script::new(scenario.clone(), settings::SCENARIO).map_err(LessonError::from)?;
        let trial = |setting: &Setting| {
            let spec = setting.policy().map_err(LessonError::from)?.spec;
            Ok((*setting, Trial::new(setting.title().to_owned(), script.clone(), &spec, speed)?))
        };
        Ok(Self { trials: settings.iter().map(trial).collect::<Result<_, NoPlan>>()?, runs })
    }

    /// Measures all of them at the same time.
    pub async fn measure(&self, stop: &CancellationToken) -> Measured<Compared<8>> {
        let machine = match Machine::new(stop) {
            Ok(machine) => machine,
            Err(error) => return Measured::nothing(error),
        };
        let rows = self.trials.iter().map(async |(setting, trial)| {
            let (runs, done) = repeated(self.runs, stop, async || trial.run(&machine).await).await;
            Measured::from(compare(*setting, trial, runs)).after(done)
        });
        Measured::of(rows).await.unless_stopped(stop)
    }
}

/// Compares the median of some runs with the model. A run that was cut short does not count, unless it is the first:
/// then the turns that have passed, if any, are compared with as many turns of the model.
fn compare(
    setting: Setting,
    trial: &Trial,
    mut runs: Vec<(Run, Recording)>,
) -> Result<Option<Compared<8>>, LessonError> {
    if runs.len() > 1 {
        runs.pop_if(|(run, _)| !trial.is_whole(run));
    }
    let figures: Vec<_> = runs.iter().map(|(run, _)| Figures::from(run)).collect();
    let Some((run, recording)) = runs.pop() else { return Ok(None) };
    let Some((scenario, median)) = trial.scenario_of(&run).zip(Figures::median(&figures)) else { return Ok(None) };
    let model = tables::modelled(&scenario, &setting.policy()?.spec)?;
    let compared = Compared::new(trial.title_of(&run), model.columns(), "local", median.columns());
    Ok(Some(compared.with_recording(recording)))
}
