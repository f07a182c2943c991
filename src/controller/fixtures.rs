//! A small cluster for tests: the policy `shop/web` and the ReplicaSet `shop/web` with one pod.

use kube::core::DeserializeGuard;
use serde_json::{Value, json};

use crate::api::yaml;
use crate::cluster::records::{OwnerRecord, PodRecord, PolicyRecord};
use crate::cluster::{Change, Index, Scope, WatchEvent, WatchKind};
use crate::engine::{Effect, Engine, Input, IntentId, Outcome, OutcomeClass, PolicyKey, Span, Time};

pub(super) const POLICY: PolicyKey = PolicyKey(0);

/// An index that has seen the policy, at version 1, and the pod.
pub(super) fn index() -> Index {
    let mut index = Index::new(&Scope::Namespace("shop".to_owned()));
    for event in [WatchEvent::Policies(Change::Applied(policy(1))), owner(), pod()] {
        index.apply(event, Time::ZERO);
    }
    index
}

/// The policy as it stands at a version.
pub(super) fn policy(version: u32) -> PolicyRecord {
    record(&policy_text(version))
}

/// A policy as its manifest says.
pub(super) fn record(manifest: &str) -> PolicyRecord {
    DeserializeGuard(Ok(yaml::from_str("policy.yaml", manifest).unwrap())).into()
}

/// The policy's manifest.
pub(super) fn policy_text(version: u32) -> String {
    format!(
        "
apiVersion: probepolicy.dev/v1alpha1
kind: ProbePolicy
metadata: {{name: web, namespace: shop, uid: policy, resourceVersion: '{version}', generation: 2}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  mode: Enforce
  liveness: {{httpGet: {{port: 80}}, period: 5s, timeout: 15s, failureThreshold: 1}}
  restart: {{maxConcurrent: 1}}
status: {{restarts: {{total: 7, futile: 2}}}}
"
    )
}

/// An engine that wants to restart the pod, and its intent.
pub(super) fn engine_with_an_intent(index: &mut Index) -> (Engine, IntentId, Time) {
    let mut engine = Engine::new();
    let mut now = Time::ZERO + Span::from_secs(60);
    index.replay().into_iter().for_each(|input| engine.handle(now, input));
    let mut verdicts = [OutcomeClass::Passed, OutcomeClass::Refused].into_iter();
    for _ in 0..100 {
        let mut effects = Vec::new();
        engine.poll(now, &mut effects);
        for effect in effects {
            match effect {
                Effect::StartAttempt { attempt, .. } => {
                    let class = verdicts.next().unwrap();
                    let outcome = Outcome { class, took: Span::ZERO };
                    engine.handle(now, Input::AttemptFinished { attempt, outcome });
                }
                Effect::RecordIntent { intent, .. } => return (engine, intent, now),
                Effect::AskDependency { .. }
                | Effect::SetGate { .. }
                | Effect::Restart { .. }
                | Effect::Record(_)
                | Effect::RecordFleet(_)
                | Effect::Published { .. }
                | Effect::Took { .. } => {}
            }
        }
        now = now + Span::from_secs(1);
    }
    panic!("the engine wants no restart");
}

/// An index that has seen the policy and the pod with a gate, and an engine that has let the pod in, or would.
pub(super) fn engine_that_admits(policy: &str) -> (Index, Engine) {
    let mut index = Index::new(&Scope::Namespace("shop".to_owned()));
    let gated = pod_with(json!([{"conditionType": "probepolicy.dev/ready"}]));
    for event in [WatchEvent::Policies(Change::Applied(record(policy))), owner(), gated] {
        index.apply(event, Time::ZERO);
    }
    let mut engine = Engine::new();
    let now = Time::ZERO + Span::from_secs(60);
    index.replay().into_iter().for_each(|input| engine.handle(now, input));
    engine.poll(now, &mut Vec::new());
    (index, engine)
}

fn owner() -> WatchEvent {
    let set = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "set"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    let set: k8s_openapi::api::apps::v1::ReplicaSet = serde_json::from_value(set).unwrap();
    WatchEvent::Owners(WatchKind::ReplicaSets, Change::Applied(OwnerRecord::from(set)))
}

/// It has no readiness gate.
fn pod() -> WatchEvent {
    pod_with(json!([]))
}

fn pod_with(gates: Value) -> WatchEvent {
    let pod = json!({
        "metadata": {
            "name": "web-x", "namespace": "shop", "uid": "pod", "resourceVersion": "1", "labels": {"app": "web"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "set", "controller": true},
            ],
        },
        "spec": {"containers": [{"name": "app"}], "nodeName": "node-1", "readinessGates": gates},
        "status": {
            "podIP": "10.0.0.1",
            "containerStatuses": [{
                "name": "app", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                "containerID": "containerd://1", "state": {"running": {"startedAt": "1970-01-01T00:00:01Z"}},
            }],
        },
    });
    let pod: k8s_openapi::api::core::v1::Pod = serde_json::from_value(pod).unwrap();
    WatchEvent::Pods(Change::Applied(PodRecord::from(pod)))
}
