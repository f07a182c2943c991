//! Writes a pod's gate and the verdict beside it.
//!
//! One server-side apply to `pods/status` owns our condition and our annotation and nothing else. It carries the
//! pod's UID, so a pod of the same name that came after is never touched.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::answer::{self, Failure};
use super::elect::Permit;
use crate::api::{CONTROLLER, GATE, VERDICT, VerdictAnnotation};
use crate::cluster::records::{ObjectName, ResourceVersion, Uid};
use crate::engine::{Gate, Reason};

/// What is to be written on a pod.
#[derive(Clone, Debug, PartialEq)]
pub struct GateWrite {
    /// Which pod, by name.
    pub pod: ObjectName,
    /// Which pod of that name.
    pub uid: Uid,
    /// The condition; `None` for a pod without a gate, which gets the verdict only.
    pub condition: Option<GateCondition>,
    /// The verdict to remember; `None` removes it.
    pub verdict: Option<VerdictAnnotation>,
}

/// The pod condition behind the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateCondition {
    /// How the gate stands.
    pub gate: Gate,
    /// Since when.
    pub since: Timestamp,
    /// Why, in a word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
}

impl GateCondition {
    /// A gate that stands so for a reason of the engine's.
    pub fn new(gate: Gate, since: Timestamp, reason: Reason) -> Self {
        Self { gate, since, reason: reason.name(), message: reason.to_string() }
    }
}

impl GateWrite {
    /// Carries the write out as the leader, and says which version of the pod it made.
    ///
    /// # Errors
    /// If it was not sent, not answered in time, or refused.
    pub async fn send(&self, actor: Client, permit: &Permit, timeout: Duration) -> Result<ResourceVersion, Failure> {
        let written = answer::ask_again(permit, timeout, || self.apply(actor.clone())).await?;
        Ok(ResourceVersion(written.metadata.resource_version.unwrap_or_default().into()))
    }

    /// The request itself, with the rights of whoever owns the client.
    pub async fn apply(&self, client: Client) -> kube::Result<Pod> {
        let pods: Api<Pod> = Api::namespaced(client, &self.pod.namespace);
        let params = PatchParams::apply(CONTROLLER).force();
        pods.patch_status(&self.pod.name, &params, &Patch::Apply(self.body())).await
    }

    fn body(&self) -> Value {
        let annotations = self.verdict.as_ref().map(|verdict| json!({VERDICT: verdict.to_string()}));
        let conditions: Vec<Value> = self.condition.iter().map(GateCondition::body).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": *self.pod.name, "uid": self.uid.0, "annotations": annotations},
            "status": {"conditions": conditions},
        })
    }
}

impl GateCondition {
    fn body(&self) -> Value {
        let status = match self.gate {
            Gate::Open => "True",
            Gate::Closed => "False",
        };
        json!({
            "type": GATE,
            "status": status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": Time(self.since),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::PodRecord;
    use crate::controller::playground::{Playground, TIMEOUT};
    use crate::engine::{EffectResult, GateSeen, Readiness, Refusal, RuleKind};

    #[test]
    fn the_write_names_the_uid_and_nothing_that_is_not_ours() {
        let reason = Reason::Passed { rule: RuleKind::Readiness, streak: 1 };
        let since = "2026-03-01T12:00:00.7Z".parse().unwrap();
        let write = GateWrite {
            pod: ObjectName::new("shop", "web-0"),
            uid: Uid("5f0c".into()),
            condition: Some(GateCondition::new(Gate::Open, since, reason)),
            verdict: Some(VerdictAnnotation { container: None, started: true, generation: 3 }),
        };
        let body = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "web-0",
                "uid": "5f0c",
                "annotations": {"probepolicy.dev/verdict": "{\"started\":true,\"generation\":3}"},
            },
            "status": {"conditions": [{
                "type": "probepolicy.dev/ready",
                "status": "True",
                "reason": "RulePassed",
                "message": "the readiness rule passed once",
                "lastTransitionTime": "2026-03-01T12:00:00Z",
            }]},
        });
        assert_eq!(write.body(), body);
    }

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn a_gate_that_opens_makes_the_pod_ready_and_leaves_its_verdict() {
        let place = Playground::open("gate").await;
        let pod = place.gated_pod("web").await;
        let made = write(&pod).send(place.clients.actor.clone(), &place.permit(), TIMEOUT).await.unwrap();
        let ready = place.wait_for("web", |pod| pod.ready == Readiness::Ready).await;
        assert!(!ready.resource_version.is_before(&made));
        assert_eq!(ready.gate, GateSeen::Set(Gate::Open));
        assert!(ready.verdict.unwrap().started);
        place.close().await;
    }

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn a_pod_of_the_same_name_that_came_after_is_not_touched() {
        let place = Playground::open("gate-uid").await;
        let pod = place.gated_pod("web").await;
        let write = GateWrite { uid: Uid("0f0c0000-0000-0000-0000-000000000000".into()), ..write(&pod) };
        let refused = write.send(place.clients.actor.clone(), &place.permit(), TIMEOUT).await.unwrap_err();
        assert_eq!(refused.result(), EffectResult::Refused(Refusal::Changed));
        assert_eq!(place.pod("web").await.gate, GateSeen::Unset);
        place.close().await;
    }

    fn write(pod: &PodRecord) -> GateWrite {
        let reason = Reason::Passed { rule: RuleKind::Readiness, streak: 1 };
        GateWrite {
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            condition: Some(GateCondition::new(Gate::Open, Timestamp::UNIX_EPOCH, reason)),
            verdict: Some(VerdictAnnotation { container: None, started: true, generation: 1 }),
        }
    }
}
