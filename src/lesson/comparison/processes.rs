//! Such a lesson on processes of this machine.

use std::num::NonZeroU32;

use tokio_util::sync::CancellationToken;

use super::Choice;
use crate::lesson::measured::{Measured, repeated};
use crate::lesson::processes::{Machine, Measurement};
use crate::lesson::{LessonError, NoPlan};
use crate::local::{Run, Script};
use crate::report::{Compared, Recording, median};
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct OnProcesses<C> {
    settings: Vec<(C, Measurement)>,
    runs: NonZeroU32,
}

impl<C: Choice> OnProcesses<C> {
    /// Settings at a speed, each run so often.
    ///
    /// # Errors
    /// If the speed is too high for one of their policies.
    pub fn new(settings: &[C], scenario: &Scenario, speed: Speed, runs: NonZeroU32) -> Result<Self, NoPlan> {
        let script = Script::new(scenario.clone(), C::SCENARIO).map_err(LessonError::from)?;
        let measurement = |setting: &C| {
            let spec = setting.policy().map_err(LessonError::from)?.spec;
            Ok((*setting, Measurement::new(setting.title().to_owned(), script.clone(), &spec, speed)?))
        };
        Ok(Self { settings: settings.iter().map(measurement).collect::<Result<_, NoPlan>>()?, runs })
    }

    /// Measures all of them at the same time.
    pub async fn measure(&self, stop: &CancellationToken) -> Measured<Compared> {
        let machine = match Machine::new(stop) {
            Ok(machine) => machine,
            Err(error) => return Measured::nothing(error),
        };
        let rows = self.settings.iter().map(async |(setting, measurement)| {
            let (runs, done) = repeated(self.runs, stop, async || measurement.run(&machine).await).await;
            Measured::from(compare(*setting, measurement, runs)).after(done)
        });
        Measured::of(rows).await.unless_stopped(stop)
    }
}

/// Compares the median of some runs with the model. A run that was cut short does not count, unless it is the first:
/// then the turns that have passed, if any, are compared with as many turns of the model.
fn compare<C: Choice>(
    setting: C,
    measurement: &Measurement,
    mut runs: Vec<(Run, Recording)>,
) -> Result<Option<Compared>, LessonError> {
    if runs.len() > 1 {
        runs.pop_if(|(run, _)| !measurement.is_whole(run));
    }
    let figures: Vec<_> = runs.iter().map(|(run, _)| setting.on_processes(run)).collect();
    let Some((run, recording)) = runs.pop() else { return Ok(None) };
    let Some((scenario, median)) = measurement.scenario_of(&run).zip(median(&figures)) else { return Ok(None) };
    let compared = Compared::new(measurement.title_of(&run), setting.in_model(&scenario)?, "local", median);
    Ok(Some(compared.with_recording(recording)))
}
