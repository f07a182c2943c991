//! Small builders of Kubernetes objects, so that tests go through the conversion as well, and an index to tell them.

use k8s_openapi::api::core::v1::Pod;
use kube::core::DeserializeGuard;
use serde_json::{Value, json};

use super::records::{OwnerRecord, PodRecord, PolicyRecord, ResourceVersion};
use super::{Change, Index, Scope, WatchEvent};
use crate::api::{GATE, ProbePolicy, VERDICT};
use crate::engine::{Container, Gate, Input, Observation, PerRule, PolicyKey, ReplicaKey, Target, Time};

/// The first policy and replica that a [`World`] was told, and the second policy.
pub(super) const OLDEST: PolicyKey = PolicyKey(0);
pub(super) const YOUNGER: PolicyKey = PolicyKey(1);
pub(super) const FIRST: ReplicaKey = ReplicaKey { index: 0, generation: 0 };

/// A pod `name` of namespace `shop`, labelled `app: web`, of no owner, with no container yet.
pub(super) fn pod(name: &str) -> PodBuilder {
    PodBuilder(json!({
        "metadata": {
            "namespace": "shop", "name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": "web"}, "annotations": {},
        },
        "spec": {"nodeName": "node-a", "containers": [], "initContainers": [], "readinessGates": []},
        "status": {
            "phase": "Running", "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}], "conditions": [],
            "containerStatuses": [], "initContainerStatuses": [],
        },
    }))
}

/// A pod in the making. What says something of a container is about the container that was added last.
pub(super) struct PodBuilder(Value);

impl PodBuilder {
    pub(super) fn container(self, name: &str) -> Self {
        self.add("containers", json!({"name": name, "ports": []})).add_status("containerStatuses", name)
    }

    pub(super) fn sidecar(self, name: &str) -> Self {
        let sidecar = json!({"name": name, "restartPolicy": "Always", "ports": []});
        self.add("initContainers", sidecar).add_status("initContainerStatuses", name)
    }

    pub(super) fn init_container(self, name: &str) -> Self {
        self.add("initContainers", json!({"name": name, "ports": []})).add_status("initContainerStatuses", name)
    }

    pub(super) fn port(mut self, name: &str, number: u16, protocol: &str) -> Self {
        let port = json!({"name": name, "containerPort": number, "protocol": protocol});
        let containers = self.0["spec"]["containers"].as_array_mut().unwrap();
        containers.last_mut().unwrap()["ports"].as_array_mut().unwrap().push(port);
        self
    }

    /// Runs as the container `id` since a second after the pod was created.
    pub(super) fn running(self, id: &str) -> Self {
        self.state(Some(id), json!({"running": {"startedAt": "2026-01-01T00:00:01Z"}}))
    }

    pub(super) fn terminated(self, id: &str) -> Self {
        self.state(Some(id), json!({"terminated": {"exitCode": 1}}))
    }

    pub(super) fn waiting(self, id: Option<&str>, reason: &str) -> Self {
        self.state(id, json!({"waiting": {"reason": reason}}))
    }

    pub(super) fn addresses(mut self, addresses: &[&str]) -> Self {
        self.0["status"]["podIPs"] = addresses.iter().map(|address| json!({"ip": address})).collect();
        self
    }

    pub(super) fn gated(self) -> Self {
        self.add("readinessGates", json!({"conditionType": GATE}))
    }

    pub(super) fn condition(mut self, type_: &str, status: &str) -> Self {
        let condition = json!({"type": type_, "status": status});
        self.0["status"]["conditions"].as_array_mut().unwrap().push(condition);
        self
    }

    pub(super) fn verdict(self, container: &str, started: bool) -> Self {
        self.annotation(VERDICT, &json!({"container": container, "started": started, "generation": 1}).to_string())
    }

    pub(super) fn annotation(self, name: &str, value: &str) -> Self {
        self.with("metadata", "annotations", name, json!(value))
    }

    pub(super) fn label(self, name: &str, value: &str) -> Self {
        self.with("metadata", "labels", name, json!(value))
    }

    pub(super) fn owned(self, kind: &str, name: &str) -> Self {
        let owner = json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": format!("uid-{name}"),
            "controller": true});
        self.meta("ownerReferences", json!([owner]))
    }

    pub(super) fn uid(self, uid: &str) -> Self {
        self.meta("uid", json!(uid))
    }

    pub(super) fn namespace(self, namespace: &str) -> Self {
        self.meta("namespace", json!(namespace))
    }

    pub(super) fn version(self, version: &str) -> Self {
        self.meta("resourceVersion", json!(version))
    }

    pub(super) fn deleted(self) -> Self {
        self.meta("deletionTimestamp", json!("2026-01-01T01:00:00Z"))
    }

    pub(super) fn phase(mut self, phase: &str) -> Self {
        self.0["status"]["phase"] = json!(phase);
        self
    }

    pub(super) fn unscheduled(mut self) -> Self {
        self.0["spec"]["nodeName"] = Value::Null;
        self
    }

    pub(super) fn on_host_network(mut self) -> Self {
        self.0["spec"]["hostNetwork"] = json!(true);
        self
    }

    pub(super) fn record(self) -> PodRecord {
        serde_json::from_value::<Pod>(self.0).unwrap().into()
    }

    fn add(mut self, list: &str, entry: Value) -> Self {
        self.0["spec"][list].as_array_mut().unwrap().push(entry);
        self
    }

    fn add_status(mut self, list: &str, name: &str) -> Self {
        let status = json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0});
        self.0["status"][list].as_array_mut().unwrap().push(status);
        self
    }

    fn state(mut self, id: Option<&str>, state: Value) -> Self {
        let status = self.0["status"]["containerStatuses"].as_array_mut().unwrap().last_mut().unwrap();
        status["containerID"] = json!(id);
        status["state"] = state;
        self
    }

    fn meta(mut self, field: &str, value: Value) -> Self {
        self.0["metadata"][field] = value;
        self
    }

    fn with(mut self, part: &str, map: &str, name: &str, value: Value) -> Self {
        self.0[part][map][name] = value;
        self
    }
}

/// A policy `name` of namespace `shop`, created at `time` of 2026-01-01, with a liveness rule on the port `http`.
pub(super) fn policy(name: &str, time: &str) -> PolicyBuilder {
    PolicyBuilder(json!({
        "apiVersion": "probepolicy.dev/v1alpha1",
        "kind": "ProbePolicy",
        "metadata": {
            "namespace": "shop", "name": name, "uid": format!("uid-{name}"), "generation": 1, "resourceVersion": "1",
            "creationTimestamp": format!("2026-01-01T{time}Z"),
        },
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "liveness": {"httpGet": {"port": "http", "path": "/live"}},
        },
    }))
}

/// A policy in the making.
pub(super) struct PolicyBuilder(Value);

impl PolicyBuilder {
    /// A later spec: another generation.
    pub(super) fn spec(mut self, field: &str, value: Value) -> Self {
        self.0["spec"][field] = value;
        let generation = self.0["metadata"]["generation"].as_i64().unwrap();
        self.0["metadata"]["generation"] = json!(generation + 1);
        self
    }

    pub(super) fn annotation(mut self, name: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][name] = json!(value);
        self
    }

    pub(super) fn selects(self, label: &str, value: &str) -> Self {
        self.spec("selector", json!({"matchLabels": {label: value}}))
    }

    pub(super) fn status(mut self, status: Value) -> Self {
        self.0["status"] = status;
        self
    }

    pub(super) fn record(self) -> PolicyRecord {
        serde_json::from_value::<DeserializeGuard<ProbePolicy>>(self.0).unwrap().into()
    }
}

/// An owner of namespace `shop` from its own kind's JSON; its UID is `uid-NAME`.
pub(super) fn owner<K>(name: &str, object: Value) -> OwnerRecord
where
    K: serde::de::DeserializeOwned,
    OwnerRecord: From<K>,
{
    let mut object = object;
    for (field, value) in [("namespace", "shop"), ("name", name), ("uid", &format!("uid-{name}"))] {
        object["metadata"][field] = json!(value);
    }
    serde_json::from_value::<K>(object).unwrap().into()
}

/// An index, and what it is told, in few words. All of it answers with what the engine must hear.
pub(super) struct World {
    pub(super) index: Index,
}

impl World {
    pub(super) fn new() -> Self {
        Self::of(&Scope::Cluster)
    }

    pub(super) fn of(scope: &Scope) -> Self {
        Self { index: Index::new(scope) }
    }

    pub(super) fn apply(&mut self, event: WatchEvent) -> Vec<Input> {
        self.index.apply(event, Time::ZERO)
    }

    pub(super) fn pod(&mut self, pod: PodBuilder) -> Vec<Input> {
        self.apply(WatchEvent::Pods(Change::Applied(pod.record())))
    }

    pub(super) fn policy(&mut self, policy: PolicyRecord) -> Vec<Input> {
        self.apply(WatchEvent::Policies(Change::Applied(policy)))
    }

    pub(super) fn policy_list(&mut self, policies: impl IntoIterator<Item = PolicyRecord>) {
        self.apply(WatchEvent::Policies(Change::ListBegan));
        for policy in policies {
            self.apply(WatchEvent::Policies(Change::Listed(policy)));
        }
        self.apply(WatchEvent::Policies(Change::ListEnded));
    }

    pub(super) fn owner(&mut self, owner: OwnerRecord) -> Vec<Input> {
        let watch = owner.watch.unwrap();
        self.apply(WatchEvent::Owners(watch, Change::Applied(owner)))
    }

    pub(super) fn wrote(&mut self, version: &str, gate: Gate) -> Vec<Input> {
        self.index.wrote(FIRST, ResourceVersion(version.into()), Some(gate))
    }

    pub(super) fn replay(&mut self) -> Vec<Input> {
        self.index.replay()
    }
}

/// A pod whose only container runs and declares the port that the builders' policies ask.
pub(super) fn web(name: &str) -> PodBuilder {
    pod(name).container("app").port("http", 8080, "TCP").running("c1")
}

pub(super) fn observed(told: &[Input]) -> Vec<&Observation> {
    let seen = told.iter().filter_map(|input| {
        let Input::ReplicaSeen { seen, .. } = input else { return None };
        Some(&**seen)
    });
    seen.collect()
}

/// The container of the liveness rule of the only replica told.
pub(super) fn container(told: &[Input]) -> Container {
    match observed(told)[..] {
        [&Observation { targets: PerRule { liveness: Some(Target::Container(container)), .. }, .. }] => container,
        _ => panic!("not one container in {told:?}"),
    }
}
