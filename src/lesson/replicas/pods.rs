//! The lesson on pods of a cluster.

use tokio_util::sync::CancellationToken;

use super::tables;
use super::{Setting, settings};
use crate::lesson::cluster_world::{self, Cluster, ClusterError, Experiment, Options, Route};
use crate::lesson::measured::Measured;
use crate::lesson::{LessonError, NoPlan};
use crate::report::{Compared, Figures, Traffic};
use crate::scenario::{Scenario, Speed};

/// Settings, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials {
    experiments: Vec<(Setting, Experiment)>,
    options: Options,
    runs: u32,
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
        runs: u32,
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
    pub async fn measure(&self, stop: &CancellationToken) -> Result<Measured<Compared<8>>, ClusterError> {
        let cluster = Cluster::reach(self.options.probes(), stop).await?;
        let rows = self.experiments.iter().map(|(setting, it)| measure(*setting, it, self.runs, &cluster));
        Ok(Measured::of(rows).await)
    }
}

/// Compares the median of so many runs with the model; of those before one that went wrong.
async fn measure(setting: Setting, experiment: &Experiment, runs: u32, cluster: &Cluster<'_>) -> Measured<Compared<8>> {
    let (mut measured, mut done) = (Vec::new(), Ok(()));
    for _ in 0..runs {
        match cluster.run(experiment).await {
            Ok(seen) => measured.push(Figures::new(&seen.restarts, Traffic::from(&seen.summary))),
            Err(error) => {
                done = Err(error);
                break;
            }
        }
    }
    let Measured { rows, done: compared } = compare(setting, experiment, &measured).into();
    Measured { rows, done: done.and(compared) }
}

fn compare(
    setting: Setting,
    experiment: &Experiment,
    measured: &[Figures],
) -> Result<Option<Compared<8>>, LessonError> {
    let Some(median) = Figures::median(measured) else { return Ok(None) };
    let model = tables::modelled(&experiment.setting.scenario, &setting.policy()?.spec)?;
    Ok(Some(Compared::new(setting.title().to_owned(), model.columns(), "cluster", median.columns())))
}
