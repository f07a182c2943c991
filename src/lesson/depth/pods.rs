//! The lesson on a cluster: the shared stores are a pod of their own, so that silent losses are counted by what it holds.

use super::content::{self, Content};
use super::tables;
use crate::fake_app::load::{Outcome, RequestLine, TruthLine};
use crate::lesson::cluster_world::{Cluster, ClusterError, Experiment, Observation, Options, Route, Setting};
use crate::lesson::measured::Measured;
use crate::lesson::{LessonError, NoPlan};
use crate::model::Traffic;
use crate::report::Compared;
use crate::runtime::Stop;
use crate::scenario::{RequestKind, Scenario, Speed, TrueState};

/// Depths, as they are to be measured.
#[derive(Clone, Debug)]
pub struct Trials {
    experiments: Vec<(Content, Experiment)>,
    options: Options,
}

impl Trials {
    /// Depths at a speed.
    ///
    /// # Errors
    /// If one of their policies, or who probes, cannot follow the speed.
    pub fn new(contents: &[Content], scenario: &Scenario, options: Options, speed: Speed) -> Result<Self, NoPlan> {
        let experiment = |content: &Content| {
            let setting = Setting {
                title: content.name(),
                name: content.name(),
                scenario: scenario.clone(),
                script: content::SCENARIO,
                policy: content.policy().map_err(LessonError::from)?,
                route: Route::Endpoints,
            };
            Ok((*content, options.experiment(setting, speed)?))
        };
        Ok(Self { experiments: contents.iter().map(experiment).collect::<Result<_, NoPlan>>()?, options })
    }

    /// Measures all of them at the same time.
    ///
    /// # Errors
    /// If there is no cluster for it.
    pub async fn measure(&self, stop: &Stop) -> Result<Measured<Compared<6>>, ClusterError> {
        let cluster = Cluster::reach(self.options.probes(), stop).await?;
        let rows = self.experiments.iter().map(|(content, experiment)| measure(*content, experiment, &cluster));
        Ok(Measured::of(rows).await)
    }
}

async fn measure(
    content: Content,
    experiment: &Experiment,
    cluster: &Cluster<'_>,
) -> Result<Option<Compared<6>>, LessonError> {
    let seen = cluster.run(experiment).await?;
    let scenario = &experiment.setting.scenario;
    let measured = tables::columns(content, &traffic(&seen), out_of_pool(scenario, &seen.truths));
    let model = tables::modelled(scenario, content)?;
    Ok(Some(Compared::new(content.name().to_owned(), model, "cluster", measured)))
}

/// What became of the requests.
fn traffic(observation: &Observation) -> Traffic {
    let mut traffic = Traffic::default();
    for request in &observation.requests {
        let tally = &mut traffic.kinds[request.request];
        tally.sent += 1;
        tally.dropped += u64::from(request.outcome != Outcome::Served);
        traffic.early_errors += u64::from(request.state == Some(TrueState::Starting));
        traffic.vain_rejections += u64::from(is_vain(request, &observation.truths));
    }
    let lost = observation.summary.lost_writes.as_ref().map_or(0, Vec::len);
    traffic.kinds[RequestKind::Write].lost_silently = lost as u64;
    traffic
}

/// Replicas that were out of the pool, summed over the turns.
fn out_of_pool(scenario: &Scenario, truths: &[TruthLine]) -> u64 {
    truths.iter().map(|truth| scenario.replicas().saturating_sub(truth.pool) as u64).sum()
}

/// Whether a read found nobody while somebody could have read.
fn is_vain(request: &RequestLine, truths: &[TruthLine]) -> bool {
    let could_read = |truth: &TruthLine| {
        truth.states.values().any(|state| matches!(state, Some(TrueState::Healthy | TrueState::HalfDown)))
    };
    request.request == RequestKind::Read
        && request.outcome == Outcome::EmptyPool
        && truths.iter().any(|truth| truth.turn == request.turn && could_read(truth))
}
