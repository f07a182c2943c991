//! One run: everybody is there before t = 0, then the turns pass, watched from outside.

use std::pin::pin;
use std::time::Duration;

use futures::stream::select;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{Pod, Service, ServiceAccount};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::timeout;

use super::census::Census;
use super::chronicle::Chronicle;
use super::lineup::{Lineup, is_hopeless};
use super::load::{self, Said};
use super::manifests::{LOAD_FILE, Manifests, REPLICAS_FILE, REPLICAS_SLICES};
use super::stage::Stage;
use super::{ClusterError, Experiment, Observation, Probes, replica};
use crate::lesson::progress::Progress;

/// Everybody is there so long before t = 0.
const MARGIN: Duration = Duration::from_secs(2);

/// After the last turn the load waits for its last answers and sums up.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// What is seen.
enum Sight {
    There(Box<Pod>),
    Gone(Box<Pod>),
    Slice(Box<EndpointSlice>),
}

/// Who takes note of what is seen.
struct Notes<'a> {
    census: Census<'a>,
    chronicle: Chronicle,
}

/// Runs an experiment on a stage, from `lead` seconds after now on.
pub(super) async fn run(
    stage: &Stage<'_>,
    experiment: &Experiment,
    lead: u64,
    progress: &Progress,
) -> Result<Observation, ClusterError> {
    let start = whole_second(Timestamp::now() + Duration::from_secs(lead));
    progress.phase(format!("starting in {}", stage.namespace()));
    furnish(stage, &Manifests { experiment, namespace: stage.namespace(), start }).await?;

    let scenario = experiment.setting.scenario.clone().at_speed(experiment.speed);
    let mut notes = Notes { census: Census::new(&scenario, start), chronicle: Chronicle::new(start) };
    let mut lineup = Lineup::new(scenario.replicas() + usize::from(scenario.uses_stores()));
    let mut sights = pin!(sights(stage));
    let lining_up = async {
        while !lineup.is_complete() {
            let Some(sight) = sights.next().await else { break };
            if let Sight::There(pod) = &sight {
                if let Some(pod) = is_hopeless(pod) {
                    return Err(ClusterError::Hopeless { pod });
                }
                lineup.see(pod);
            }
            notes.take(&sight);
        }
        Ok(())
    };
    match timeout(until(start).saturating_sub(MARGIN), lining_up).await {
        Ok(lined_up) => lined_up?,
        Err(_) => return Err(lineup.late(Duration::from_secs(lead))),
    }

    progress.phase(format!("running in {}", stage.namespace()));
    let pods = stage.pods();
    let watching = async {
        while let Some(sight) = sights.next().await {
            notes.take(&sight);
        }
    };
    let end = until(start) + Duration::from(scenario.length()) + LAST_WORDS;
    let said = tokio::select! {
        said = load::follow(&pods, progress) => said?,
        () = watching => return Err(ClusterError::Blind),
        () = tokio::time::sleep(end) => return Err(ClusterError::Endless),
    };
    let Said { requests, truths, summary } = said;
    if summary.unsent > 0 {
        return Err(ClusterError::Unsent { unsent: summary.unsent });
    }
    let Notes { census, chronicle } = notes;
    Ok(Observation { restarts: census.restarts(), seen: chronicle.seen(), requests, truths, summary })
}

async fn furnish(stage: &Stage<'_>, manifests: &Manifests<'_>) -> Result<(), ClusterError> {
    if manifests.experiment.probes == Probes::Own {
        stage.put(manifests.policy()).await?;
    }
    stage.put(manifests.script()?).await?;
    if let Some((service, pod)) = manifests.stores()? {
        stage.put(service).await?;
        stage.put(pod).await?;
    }
    stage.put(manifests.given::<Service>(REPLICAS_FILE)?).await?;
    stage.put(manifests.replicas()?).await?;
    stage.put(manifests.given::<ServiceAccount>(LOAD_FILE)?).await?;
    stage.put(manifests.given::<Role>(LOAD_FILE)?).await?;
    stage.put(manifests.binding()?).await?;
    stage.put(manifests.load()?).await
}

/// The pods and the replicas' slices, as they come, change and go. A watch that breaks is begun again.
fn sights(stage: &Stage<'_>) -> impl Stream<Item = Sight> + use<> {
    let pods = watcher(stage.pods(), watcher::Config::default()).default_backoff();
    let pods = pods.filter_map(async |event| match event {
        Ok(Event::InitApply(pod) | Event::Apply(pod)) => Some(Sight::There(Box::new(pod))),
        Ok(Event::Delete(pod)) => Some(Sight::Gone(Box::new(pod))),
        Ok(Event::Init | Event::InitDone) | Err(_) => None,
    });
    let of_replicas = watcher::Config::default().labels(REPLICAS_SLICES);
    let slices = watcher(stage.slices(), of_replicas).default_backoff();
    let slices = slices.filter_map(async |event| match event {
        Ok(Event::InitApply(slice) | Event::Apply(slice)) => Some(Sight::Slice(Box::new(slice))),
        Ok(Event::Delete(_) | Event::Init | Event::InitDone) | Err(_) => None,
    });
    select(pods, slices)
}

impl Notes<'_> {
    fn take(&mut self, sight: &Sight) {
        let now = Timestamp::now();
        match sight {
            Sight::There(pod) => {
                let Some(replica) = replica(&pod.name_any()) else { return };
                self.census.see(replica, pod, now);
                self.chronicle.pod(replica, pod, now);
            }
            Sight::Gone(pod) => {
                if let Some(replica) = replica(&pod.name_any()) {
                    self.census.miss(replica, now);
                }
            }
            Sight::Slice(slice) => self.chronicle.slice(slice, now),
        }
    }
}

fn until(instant: Timestamp) -> Duration {
    Duration::try_from(instant.duration_since(Timestamp::now())).unwrap_or_default()
}

/// The next one: the node writes down the times of containers in whole seconds, cut off.
fn whole_second(instant: Timestamp) -> Timestamp {
    Timestamp::from_second(instant.as_second() + 1).unwrap_or(Timestamp::MAX)
}
