//! Whether everybody is there for t = 0.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;

use super::ClusterError;
use super::manifests::LOAD;

/// Why a container that waits will wait for ever.
const HOPELESS: [&str; 5] =
    ["ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"];

/// Who is there so far.
pub(super) struct Lineup {
    pods: usize,
    ready: BTreeSet<String>,
    load_runs: bool,
}

impl Lineup {
    /// Nobody yet, of so many pods and the load.
    pub fn new(pods: usize) -> Self {
        Self { pods, ready: BTreeSet::new(), load_runs: false }
    }

    /// Takes note of a pod.
    pub fn see(&mut self, pod: &Pod) {
        let name = pod.name_any();
        if name == LOAD {
            self.load_runs = pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"));
        } else if is_ready(pod) {
            self.ready.insert(name);
        } else {
            self.ready.remove(&name);
        }
    }

    /// That they came too late, after so long a time.
    pub fn late(&self, lead: Duration) -> ClusterError {
        let load = if self.load_runs { "ran" } else { "did not run" };
        ClusterError::Late { ready: self.ready.len(), pods: self.pods, load, lead }
    }

    /// Whether all pods are Ready and the load runs.
    pub fn is_complete(&self) -> bool {
        self.ready.len() == self.pods && self.load_runs
    }
}

/// Why a pod will never run, if that can be told.
pub(super) fn is_hopeless(pod: &Pod) -> Option<String> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find_map(hopeless).map(|why| format!("{}: {why}", pod.name_any()))
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn hopeless(status: &ContainerStatus) -> Option<String> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| HOPELESS.contains(reason))?;
    Some(format!("{reason}: {}", waiting.message.as_deref().unwrap_or("no message")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, status: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    fn ready(name: &str, status: &str) -> Pod {
        pod(name, json!({"conditions": [{"type": "Ready", "status": status}]}))
    }

    #[test]
    fn it_is_complete_with_every_pod_ready_and_the_load_running() {
        let mut lineup = Lineup::new(2);
        lineup.see(&ready("fake-0", "True"));
        lineup.see(&pod(LOAD, json!({"phase": "Running"})));
        lineup.see(&ready("fake-1", "False"));
        assert!(!lineup.is_complete());
        lineup.see(&ready("fake-1", "True"));
        assert!(lineup.is_complete());
        lineup.see(&ready("fake-0", "False"));
        assert!(!lineup.is_complete());
    }

    #[test]
    fn an_image_that_is_not_there_is_hopeless_and_one_that_is_not_there_yet_is_not() {
        let waits = |reason: &str| {
            let waiting = json!({"waiting": {"reason": reason, "message": "no such image"}});
            let container = json!({
                "name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": waiting,
            });
            is_hopeless(&pod("fake-3", json!({"containerStatuses": [container]})))
        };
        assert_eq!(waits("ErrImagePull").as_deref(), Some("fake-3: ErrImagePull: no such image"));
        assert_eq!(waits("ContainerCreating"), None);
    }
}
