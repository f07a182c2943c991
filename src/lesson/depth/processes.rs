//! The lesson on processes of this machine.

use tokio_util::sync::CancellationToken;

use super::content::{self, Content};
use super::tables;
use crate::lesson::measured::Measured;
use crate::lesson::processes::{Machine, Trial};
use crate::lesson::{LessonError, NoPlan};
use crate::local::Script;
use crate::report::Compared;
use crate::scenario::{Scenario, Speed};

/// Depths, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials(Vec<(Content, Trial)>);

impl Trials {
    /// Depths at a speed.
    ///
    /// # Errors
    /// If the speed is too high for one of their policies.
    pub fn new(contents: &[Content], scenario: &Scenario, speed: Speed) -> Result<Self, NoPlan> {
        let script = Script::new(scenario.clone(), content::SCENARIO).map_err(LessonError::from)?;
        let trial = |content: &Content| {
            let spec = content.policy().map_err(LessonError::from)?.spec;
            Ok((*content, Trial::new(content.name().to_owned(), script.clone(), &spec, speed)?))
        };
        Ok(Self(contents.iter().map(trial).collect::<Result<_, NoPlan>>()?))
    }

    /// Measures all of them at the same time.
    pub async fn measure(&self, stop: &CancellationToken) -> Measured<Compared<6>> {
        let machine = match Machine::new(stop) {
            Ok(machine) => machine,
            Err(error) => return Measured::nothing(error),
        };
        let rows = self.0.iter().map(|(content, trial)| measure(*content, trial, &machine));
        Measured::of(rows).await.unless_stopped(stop)
    }
}

async fn measure(content: Content, trial: &Trial, machine: &Machine<'_>) -> Result<Option<Compared<6>>, LessonError> {
    let (run, recording) = trial.run(machine).await?;
    let Some(scenario) = trial.scenario_of(&run) else { return Ok(None) };
    let measured = tables::columns(content, &run.traffic(), run.out_of_pool());
    let compared = Compared::new(trial.title_of(&run), tables::modelled(&scenario, content)?, "local", measured);
    Ok(Some(compared.with_recording(recording)))
}
