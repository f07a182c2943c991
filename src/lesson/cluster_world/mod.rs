//! The lesson on real pods. Each run has a namespace of its own, which is gone afterwards, whatever happens.
//!
//! What is measured is measured from outside: restarts by a watch of the pods, and what each replica really was from
//! the scenario, by `census`; traffic by the load's own lines. Nobody asks the controller.

mod census;
mod error;
mod lineup;
mod load;
mod manifests;
mod preflight;
mod stage;
mod trial;

use clap::ValueEnum;
use indicatif::MultiProgress;
use kube::Client;
use tokio_util::sync::CancellationToken;

pub use error::ClusterError;
pub use manifests::ManifestError;

use self::stage::Stage;
use super::Setting;
use super::progress::Progress;
use crate::api::ProbePolicy;
use crate::cluster::Clients;
use crate::report::Figures;
use crate::scenario::{Scenario, Speed};

/// How long, in seconds, everybody may take to be there for t = 0: if they are too late, they get another try.
const LEADS: [u64; 3] = [25, 45, 90];

/// Who probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Probes {
    /// Our controller, by the setting's policy
    #[default]
    Own,
    /// The kubelet, by the same rules in the pod template, without a policy
    Kubelet,
}

/// What is measured, and how.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The setting.
    pub setting: Setting,
    /// The scenario, as it is written.
    pub scenario: Scenario,
    /// The setting's policy, at the speed.
    pub policy: ProbePolicy,
    /// How fast everything runs.
    pub speed: Speed,
    /// Who probes.
    pub probes: Probes,
    /// The image of the fake app.
    pub image: String,
    /// What the names of namespaces begin with.
    pub prefix: String,
}

/// A client of the current kubeconfig's cluster, if a lesson can be run there under those probes.
pub async fn client(probes: Probes) -> Result<Client, ClusterError> {
    let client = Clients::infer().await?.reader;
    match probes {
        Probes::Own => preflight::check(&client).await?,
        Probes::Kubelet => {}
    }
    Ok(client)
}

/// Runs an experiment once, with a bar among `bars`. Told to stop, it cleans up first.
pub async fn measure(
    client: &Client,
    experiment: &Experiment,
    bars: &MultiProgress,
    stop: &CancellationToken,
) -> Result<Figures, ClusterError> {
    let progress = Progress::new(bars, experiment.setting.title(), experiment.scenario.turns());
    let mut leads = LEADS.into_iter().peekable();
    loop {
        let lead = leads.next().unwrap_or_default();
        let stage = Stage::open(client, experiment).await?;
        let run = stop.run_until_cancelled(trial::run(&stage, experiment, lead, &progress)).await;
        progress.phase(format!("cleaning up {}", stage.namespace()));
        let closed = stage.close().await;
        match (run.unwrap_or(Err(ClusterError::Interrupted)), closed) {
            (Err(again @ (ClusterError::Late { .. } | ClusterError::Unsent { .. })), Ok(()))
                if leads.peek().is_some() =>
            {
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
