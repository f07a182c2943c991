//! The lesson on processes of this machine.

use tokio_util::sync::CancellationToken;

use super::tables;
use super::{Setting, settings};
use crate::lesson::measured::Measured;
use crate::lesson::processes::{Machine, Trial};
use crate::lesson::{LessonError, NoPlan};
use crate::local::Script;
use crate::report::{Compared, Figures};
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials {
    trials: Vec<(Setting, Trial)>,
    runs: u32,
}

impl Trials {
    /// Settings at a speed, each run so often.
    ///
    /// # Errors
    /// If the speed is too high for one of their policies.
    pub fn new(settings: &[Setting], scenario: &Scenario, speed: Speed, runs: u32) -> Result<Self, NoPlan> {
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
        let rows = self.trials.iter().map(|(setting, trial)| measure(*setting, trial, self.runs, &machine));
        Measured::of(rows).await.unless_stopped(stop)
    }
}

/// Compares the median of so many runs with the model. Told to stop before the first of them is over, it compares the
/// turns that have passed, if any, with as many turns of the model.
async fn measure(
    setting: Setting,
    trial: &Trial,
    runs: u32,
    machine: &Machine<'_>,
) -> Result<Option<Compared<8>>, LessonError> {
    let (mut measured, mut latest) = (Vec::new(), None);
    while measured.len() < runs as usize {
        let (run, recording) = trial.run(machine).await?;
        let is_whole = trial.is_whole(&run);
        if is_whole || latest.is_none() {
            measured.push(Figures::from(&run));
            latest = Some((run, recording));
        }
        if !is_whole {
            break;
        }
    }
    let Some((run, recording)) = latest else { return Ok(None) };
    let Some((scenario, median)) = trial.scenario_of(&run).zip(Figures::median(&measured)) else { return Ok(None) };
    let model = tables::modelled(&scenario, &setting.policy()?.spec)?;
    let compared = Compared::new(trial.title_of(&run), model.columns(), "local", median.columns());
    Ok(Some(compared.with_recording(recording)))
}
