//! One run: everybody is there before t = 0, then the turns pass, watched from outside.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::timeout;

use super::census::Census;
use super::lineup::{Lineup, is_hopeless};
use super::manifests::{LOAD_FILE, Manifests, REPLICAS_FILE, SCRIPT_FILE};
use super::stage::Stage;
use super::{ClusterError, Experiment, Probes, load};
use crate::lesson::progress::Progress;
use crate::report::{Figures, Traffic};

/// Everybody is there so long before t = 0.
const MARGIN: Duration = Duration::from_secs(2);

/// After the last turn the load waits for its last answers and sums up.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// A pod, seen.
enum Sight {
    There(Pod),
    Gone(Pod),
}

/// Runs an experiment on a stage, from `lead` seconds after now on.
pub(super) async fn run(
    stage: &Stage<'_>,
    experiment: &Experiment,
    lead: u64,
    progress: &Progress,
) -> Result<Figures, ClusterError> {
    let start = whole_second(Timestamp::now() + Duration::from_secs(lead));
    progress.phase(format!("starting in {}", stage.namespace()));
    furnish(stage, &Manifests { experiment, namespace: stage.namespace(), start }).await?;

    let scenario = experiment.scenario.clone().at_speed(experiment.speed);
    let mut census = Census::new(&scenario, start);
    let mut lineup = Lineup::new(scenario.replicas());
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
            note(&mut census, sight);
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
            note(&mut census, sight);
        }
    };
    let end = until(start) + Duration::from(scenario.length()) + LAST_WORDS;
    let summary = tokio::select! {
        summary = load::follow(&pods, progress) => summary?,
        () = watching => return Err(ClusterError::Blind),
        () = tokio::time::sleep(end) => return Err(ClusterError::Endless),
    };
    if summary.unsent > 0 {
        return Err(ClusterError::Unsent { unsent: summary.unsent });
    }
    let traffic = Traffic {
        early_errors: summary.early_errors,
        total_errors: summary.total_errors,
        truly_serving: summary.truly_serving.unwrap_or_default(),
    };
    Ok(Figures::new(&census.restarts(), traffic))
}

async fn furnish(stage: &Stage<'_>, manifests: &Manifests<'_>) -> Result<(), ClusterError> {
    if manifests.experiment.probes == Probes::Own {
        stage.put(manifests.policy()).await?;
    }
    stage.put(manifests.given::<ConfigMap>(SCRIPT_FILE)?).await?;
    stage.put(manifests.given::<Service>(REPLICAS_FILE)?).await?;
    stage.put(manifests.replicas()?).await?;
    stage.put(manifests.given::<ServiceAccount>(LOAD_FILE)?).await?;
    stage.put(manifests.given::<Role>(LOAD_FILE)?).await?;
    stage.put(manifests.binding()?).await?;
    stage.put(manifests.load()?).await
}

/// The pods, as they come, change and go. A watch that breaks is begun again.
fn sights(stage: &Stage<'_>) -> impl Stream<Item = Sight> + use<> {
    let events = watcher(stage.pods(), watcher::Config::default()).default_backoff();
    events.filter_map(async |event| match event {
        Ok(Event::InitApply(pod) | Event::Apply(pod)) => Some(Sight::There(pod)),
        Ok(Event::Delete(pod)) => Some(Sight::Gone(pod)),
        Ok(Event::Init | Event::InitDone) | Err(_) => None,
    })
}

fn note(census: &mut Census<'_>, sight: Sight) {
    let now = Timestamp::now();
    let (Sight::There(pod) | Sight::Gone(pod)) = &sight;
    let Some(replica) = replica(&pod.name_any()) else { return };
    match &sight {
        Sight::There(pod) => census.see(replica, pod, now),
        Sight::Gone(_) => census.miss(replica, now),
    }
}

/// A StatefulSet's pods are numbered at the end of their names; the load's is not.
fn replica(pod: &str) -> Option<usize> {
    pod.rsplit_once('-')?.1.parse().ok()
}

fn until(instant: Timestamp) -> Duration {
    Duration::try_from(instant.duration_since(Timestamp::now())).unwrap_or_default()
}

/// The next one: the node writes down the times of containers in whole seconds, cut off.
fn whole_second(instant: Timestamp) -> Timestamp {
    Timestamp::from_second(instant.as_second() + 1).unwrap_or(Timestamp::MAX)
}
