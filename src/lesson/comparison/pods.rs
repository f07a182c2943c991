//! Such a lesson on pods of a cluster.

use std::num::NonZeroU32;

use super::Choice;
use crate::lesson::cluster_world::{Cluster, ClusterError, Experiment, Observation, Options, Route, Setting};
use crate::lesson::measured::{Measured, repeated};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Compared, median};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct OnPods<C> {
    settings: Vec<(C, Experiment)>,
    options: Options,
    runs: NonZeroU32,
}

impl<C: Choice> OnPods<C> {
    /// Settings at a speed, each run so often.
    ///
    /// # Errors
    /// If one of their policies, or who probes, cannot follow the speed.
    pub fn new(
        settings: &[C],
        scenario: &Scenario,
        options: Options,
        speed: Speed,
        runs: NonZeroU32,
    ) -> Result<Self, NoPlan> {
        let experiment = |setting: &C| {
            let it = Setting {
                title: setting.title(),
                name: setting.name(),
                scenario: scenario.clone(),
                script: C::SCENARIO,
                policy: setting.policy().map_err(LessonError::from)?,
                route: Route::Endpoints,
            };
            Ok((*setting, options.experiment(it, speed)?))
        };
        Ok(Self { settings: settings.iter().map(experiment).collect::<Result<_, NoPlan>>()?, options, runs })
    }

    /// Measures all of them at the same time.
    ///
    /// # Errors
    /// If there is no cluster for it.
    pub async fn measure(&self, stop: &Stop) -> Result<Measured<Compared>, ClusterError> {
        let cluster = Cluster::reach(self.options.probes(), stop).await?;
        let rows = self.settings.iter().map(async |(setting, experiment)| {
            let (runs, done) = repeated(self.runs, &stop.once, async || cluster.run(experiment).await).await;
            Measured::from(compare(*setting, &experiment.setting.scenario, &runs)).after(done)
        });
        Ok(Measured::of(rows).await.unless_stopped(&stop.once))
    }
}

/// Compares the median of some runs with the model.
fn compare<C: Choice>(setting: C, scenario: &Scenario, runs: &[Observation]) -> Result<Option<Compared>, LessonError> {
    let figures: Vec<_> = runs.iter().map(|seen| setting.on_pods(scenario, seen)).collect();
    let Some(median) = median(&figures) else { return Ok(None) };
    Ok(Some(Compared::new(setting.title().to_owned(), setting.in_model(scenario)?, "cluster", median)))
}
