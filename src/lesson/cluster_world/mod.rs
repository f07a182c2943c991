//! The lesson on real pods. Each run has a namespace of its own, which is gone afterwards, whatever happens.
//!
//! What is measured is measured from outside: restarts by a watch of the pods, and what each replica really was from
//! the scenario, by `census`; traffic by the load's own lines. Nobody asks the controller.

mod census;
mod chronicle;
mod error;
mod lineup;
mod load;
mod manifests;
mod options;
mod pace;
mod preflight;
mod run;
mod stage;

use indicatif::MultiProgress;
use kube::Client;

pub use chronicle::{Seen, Station};
pub use error::ClusterError;
pub use manifests::ManifestError;
pub use options::{Experiment, Options, Probes, Route, Setting};

use self::stage::Stage;
use super::LessonError;
use super::progress::Progress;
use crate::cluster::Clients;
use crate::fake_app::load::{RequestLine, Summary, TruthLine};
use crate::report::Restart;
use crate::runtime::Stop;

/// How long, in seconds, everybody may take to be there for t = 0: if they are too late, they get another try.
const LEADS: [u64; 3] = [25, 45, 90];

/// What was measured.
#[derive(Debug)]
pub struct Observation {
    /// The restarts within the scenario's turns, in their order.
    pub restarts: Vec<Restart>,
    /// The decisions at the stations on their way to the traffic.
    pub seen: Vec<Seen>,
    /// What became of each request, not sorted by time.
    pub requests: Vec<RequestLine>,
    /// What the replicas were in the middle of each turn.
    pub truths: Vec<TruthLine>,
    /// What the requests came to.
    pub summary: Summary,
}

/// The number of a replica, by its pod's name: a StatefulSet's pods are numbered at the end; others are not.
pub fn replica(pod: &str) -> Option<usize> {
    pod.rsplit_once('-')?.1.parse().ok()
}

/// A cluster that lessons are run on, several at the same time.
pub struct Cluster<'a> {
    client: Client,
    bars: MultiProgress,
    stop: &'a Stop,
}

impl<'a> Cluster<'a> {
    /// The current kubeconfig's cluster, until `stop`.
    ///
    /// # Errors
    /// If there is none, or no lesson can be run there under those probes.
    pub async fn reach(probes: Probes, stop: &'a Stop) -> Result<Self, ClusterError> {
        let reaching = async {
            let client = Clients::infer().await?.reader;
            client.apiserver_version().await.map_err(ClusterError::refused("ask the API server for its version"))?;
            match probes {
                Probes::Own => preflight::check(&client).await?,
                Probes::Kubelet => {}
            }
            Ok(Self { client, bars: MultiProgress::new(), stop })
        };
        stop.once.run_until_cancelled(reaching).await.unwrap_or(Err(ClusterError::Interrupted))
    }

    /// Runs an experiment once, with a bar. Told to stop, it cleans up first; told again, it says what is left.
    pub async fn run(&self, experiment: &Experiment) -> Result<Observation, LessonError> {
        let setting = &experiment.setting;
        let progress = Progress::new(&self.bars, setting.title, &setting.scenario);
        let observed = self.measure(experiment, &progress).await;
        let turn = experiment.speed.shorten(setting.scenario.turn());
        let remark = observed.iter().find_map(|seen| seen.summary.remark(turn.into()));
        remark.iter().for_each(|remark| progress.note(remark));
        observed.map_err(|error| LessonError::Run { setting: setting.title.to_owned(), error: Box::new(error) })
    }

    async fn measure(&self, experiment: &Experiment, progress: &Progress) -> Result<Observation, ClusterError> {
        let mut leads = LEADS.into_iter().peekable();
        loop {
            let lead = leads.next().unwrap_or_default();
            if self.stop.once.is_cancelled() {
                return Err(ClusterError::Interrupted);
            }
            let stage = Stage::open(&self.client, experiment).await?;
            let run = self.stop.once.run_until_cancelled(run::run(&stage, experiment, lead, progress)).await;
            progress.phase(format!("cleaning up {}", stage.namespace()));
            let closed = stage.close(&self.stop.again).await;
            match (run.unwrap_or(Err(ClusterError::Interrupted)), closed) {
                (Err(again @ ClusterError::Late { .. }), Ok(())) if leads.peek().is_some() => {
                    progress.note(&format!("{again}; once more"));
                }
                (Err(error), Err(left)) => {
                    progress.note(&left.to_string());
                    return Err(error);
                }
                (Ok(_), Err(left)) => return Err(left),
                (ended, Ok(())) => return ended,
            }
        }
    }
}
