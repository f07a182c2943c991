//! The lesson on pods of a cluster.

use std::num::NonZeroU32;

use super::tables;
use super::{Setting, settings};
use crate::lesson::cluster_world::{self, Cluster, ClusterError, Experiment, Observation, Options, Route};
use crate::lesson::measured::{Measured, repeated};
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Compared, Figures, Traffic};
use crate::runtime::Stop;
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials {
    experiments: Vec<(Setting, Experiment)>,
    options: Options,
    runs: NonZeroU32,
}

impl Trials {
    /// Settings at a speed, each run so often.
    ///
    /// # Errors
    /// If one of their policies, or who probes, cannot follow the speed.
    pub fn new(
        settings: &[Setting],
        scenario: &Scenario,
        options: Options,
        speed: Speed,
        runs: NonZeroU32,
    ) -> Result<Self, NoPlan> {
        let experiment = |setting: &Setting| {
            let set = cluster_world::Setting {
                title: setting.title(),
                name: setting.name(),
                scenario: scenario.clone(),
                script: settings::SCENARIO,
                policy: setting.policy().map_err(LessonError::from)?,
                route: Route::Endpoints,
            };
            Ok((*setting, options.experiment(set, speed)?))
        };
        Ok(Self { experiments: settings.iter().map(experiment).collect::<Result<_, NoPlan>>()?, options, runs })
    }

    /// Measures all of them at the same time.
    ///
    /// # Errors
    /// If there is no cluster for it.
    pub async fn measure(&self, stop: &Stop) -> Result<Measured<Compared<8>>, ClusterError> {
        let cluster = Cluster::reach(self.options.probes(), stop).await?;
        let rows = self.experiments.iter().map(async |(setting, experiment)| {
            let (runs, done) = repeated(self.runs, &stop.once, async || cluster.run(experiment).await).await;
            Measured::from(compare(*setting, experiment, &runs)).after(done)
        });
        Ok(Measured::of(rows).await.unless_stopped(&stop.once))
    }
}

/// Compares the median of some runs with the model.
fn compare(
    setting: Setting,
    experiment: &Experiment,
    runs: &[Observation],
) -> Result<Option<Compared<8>>, LessonError> {
    let figures: Vec<_> = runs.iter().map(|seen| Figures::new(&seen.restarts, Traffic::from(&seen.summary))).collect();
    let Some(median) = Figures::median(&figures) else { return Ok(None) };
    let model = tables::modelled(&experiment.setting.scenario, &setting.policy()?.spec)?;
    Ok(Some(Compared::new(setting.title().to_owned(), model.columns(), "cluster", median.columns())))
}
