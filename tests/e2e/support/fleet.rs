//! Fleets of fake apps.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;
use probe_policy::api::{BEATS_AUDIENCE, GATE};
use serde_json::{Value, json};

use super::{Namespace, eventually, seconds, until};

/// How many parts the script has: a fleet may grow to so many replicas but one.
const PARTS: u32 = 8;
/// The part that a sidecar plays.
pub const SIDECAR: u32 = PARTS - 1;
const IMAGE: &str = concat!("localhost/fake-app:", env!("CARGO_PKG_VERSION"));

/// A fake app under an owner, with a Service; all of them are called `fake`. A turn of the script is a second.
#[derive(Clone)]
pub struct Fleet {
    owner: Owner,
    replicas: usize,
    part: u32,
    startup: u32,
    reopenings: Value,
    faults: Value,
    /// How replicas beat, if they do.
    registry: Value,
    /// What is particular to its Service.
    service: Value,
    workload: Value,
    pod: Value,
    container: Value,
    sidecar: bool,
    volumes: Vec<Value>,
    mounts: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    StatefulSet,
    Deployment,
    DaemonSet,
    Foreign,
}

impl Fleet {
    /// Replicas `fake-0`, `fake-1` and so on, which play these parts of the script.
    pub fn stateful_set(replicas: usize) -> Self {
        let fleet = Self::under(Owner::StatefulSet, replicas);
        fleet.workload(json!({"serviceName": "fake", "podManagementPolicy": "Parallel"}))
    }

    /// Replicas with random names, all of which play replica 0 of the script, or [another](Self::part).
    pub fn deployment(replicas: usize) -> Self {
        Self::under(Owner::Deployment, replicas)
    }

    /// A replica on every node, all of which play replica 0 of the script.
    pub async fn daemon_set(namespace: &Namespace) -> Self {
        let nodes = Api::<Node>::all(namespace.client.clone()).list(&ListParams::default()).await.unwrap();
        Self::under(Owner::DaemonSet, nodes.items.len())
    }

    /// One replica `fake`, replica 0 of the script, under a controller of a kind that nobody knows as one: its script.
    pub fn foreign() -> Self {
        Self::under(Owner::Foreign, 1)
    }

    fn under(owner: Owner, replicas: usize) -> Self {
        Self {
            owner,
            replicas,
            part: 0,
            startup: 1,
            reopenings: json!([]),
            faults: json!([]),
            registry: Value::Null,
            service: json!({"selector": {"app": "fake"}}),
            workload: json!({}),
            pod: json!({"readinessGates": [{"conditionType": GATE}]}),
            container: json!({}),
            sidecar: false,
            volumes: vec![json!({"name": "script", "configMap": {"name": "fake"}})],
            mounts: Vec::new(),
        }
    }

    /// Which replica of the script those play that have random names.
    pub fn part(self, part: u32) -> Self {
        Self { part, ..self }
    }

    /// So many turns go by until a process that is opened after the script's beginning serves.
    pub fn startup(self, turns: u32) -> Self {
        Self { startup: turns, ..self }
    }

    /// In which turns which processes end by themselves.
    pub fn reopenings(self, reopenings: Value) -> Self {
        Self { reopenings, ..self }
    }

    /// What goes wrong in which turns.
    pub fn faults(self, faults: Value) -> Self {
        Self { faults, ..self }
    }

    /// More fields of the owner's spec.
    pub fn workload(mut self, fields: Value) -> Self {
        extend(&mut self.workload, fields);
        self
    }

    /// Replicas that say every second by their Leases that they are there, under the account `fake`.
    pub fn beating(mut self) -> Self {
        self.registry = json!({"beat": 1, "timeToLive": 3});
        extend(&mut self.pod, json!({"serviceAccountName": "fake", "automountServiceAccountToken": true}));
        let field = |name, path| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}});
        let env = [field("FAKE_APP_LEASE", "metadata.name"), field("FAKE_APP_LEASE_OWNER", "metadata.uid")];
        self.container(json!({"env": env}))
    }

    /// Replicas that say the same over HTTP, to controllers at this address.
    pub fn beating_over_http(mut self, controllers: &str) -> Self {
        self.registry = json!({"beat": 1, "timeToLive": 3});
        let token = json!({"serviceAccountToken": {"path": "token", "audience": BEATS_AUDIENCE}});
        self.volumes.push(json!({"name": "beats", "projected": {"sources": [token]}}));
        self.mounts.push(json!({"name": "beats", "mountPath": "/beats", "readOnly": true}));
        let env = |name, value| json!({"name": name, "value": value});
        let env = [env("FAKE_APP_CONTROLLER", controllers), env("FAKE_APP_TOKEN", "/beats/token")];
        self.container(json!({"env": env}))
    }

    /// Pods without the readiness gate.
    pub fn ungated(self) -> Self {
        Self { pod: json!({}), ..self }
    }

    /// A Service without a selector: somebody has to say what its endpoints are.
    pub fn unselected(self) -> Self {
        Self { service: json!({}), ..self }
    }

    /// More fields of the app's container.
    pub fn container(mut self, fields: Value) -> Self {
        extend(&mut self.container, fields);
        self
    }

    /// A second container in every pod, which plays the part [`SIDECAR`].
    pub fn with_sidecar(self) -> Self {
        Self { sidecar: true, ..self }
    }
}

impl Namespace {
    /// Applies a fleet whose script begins at `start`. What is opened before is warm: it serves at once.
    pub async fn deploy(&self, fleet: &Fleet, start: Timestamp) {
        let script = fleet.script().to_string();
        self.apply::<ConfigMap>(json!({"metadata": {"name": "fake"}, "data": {"scenario.yaml": script}})).await;
        let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}]);
        let mut service = json!({"ports": ports});
        extend(&mut service, fleet.service.clone());
        self.apply::<Service>(json!({"metadata": {"name": "fake"}, "spec": service})).await;
        let workload = json!({"metadata": {"name": "fake"}, "spec": fleet.spec(start)});
        match fleet.owner {
            Owner::StatefulSet => self.apply::<StatefulSet>(workload).await,
            Owner::Deployment => self.apply::<Deployment>(workload).await,
            Owner::DaemonSet => self.apply::<DaemonSet>(workload).await,
            Owner::Foreign => {
                let uid = self.api::<ConfigMap>().get("fake").await.unwrap().metadata.uid;
                let owner =
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "fake", "uid": uid, "controller": true});
                let metadata = json!({"name": "fake", "labels": {"app": "fake"}, "ownerReferences": [owner]});
                self.apply::<Pod>(json!({"metadata": metadata, "spec": fleet.pod_spec(start)})).await;
            }
        }
    }

    /// Applies a fleet and returns when its script begins; every pod was in the Service's slices before.
    pub async fn launch(&self, fleet: &Fleet) -> Timestamp {
        for lead in [10, 20, 40] {
            let start = Timestamp::now() + seconds(lead);
            self.deploy(fleet, start).await;
            while Timestamp::now() < start - seconds(1) {
                if self.in_slices().await == fleet.replicas {
                    until(start).await;
                    return start;
                }
                tokio::time::sleep(seconds(1) / 5).await;
            }
            self.take_down(fleet).await; // a slow machine gets a longer lead
        }
        panic!("{} of {} pods are in the slices after 40s", self.in_slices().await, fleet.replicas);
    }

    async fn in_slices(&self) -> usize {
        let slices = self.api::<EndpointSlice>().list(&ListParams::default()).await.unwrap().items;
        let ready = |endpoint: &&Endpoint| endpoint.conditions.as_ref().and_then(|it| it.ready) == Some(true);
        slices.iter().flat_map(|slice| &slice.endpoints).filter(ready).count()
    }

    async fn take_down(&self, fleet: &Fleet) {
        match fleet.owner {
            Owner::StatefulSet => self.delete::<StatefulSet>("fake").await,
            Owner::Deployment => self.delete::<Deployment>("fake").await,
            Owner::DaemonSet => self.delete::<DaemonSet>("fake").await,
            Owner::Foreign => self.delete::<Pod>("fake").await,
        }
        eventually("the end of the pods", async || self.are_ready(0).await).await;
    }
}

impl Fleet {
    fn script(&self) -> Value {
        let mut script = json!({
            "turn": "1s",
            "turns": 3600,
            "requestsPerTurn": 1,
            "replicas": {"count": PARTS, "startup": self.startup},
            "reopenings": self.reopenings,
            "faults": self.faults,
        });
        if !self.registry.is_null() {
            script["registry"] = self.registry.clone();
        }
        script
    }

    fn spec(&self, start: Timestamp) -> Value {
        let mut spec = json!({
            "selector": {"matchLabels": {"app": "fake"}},
            "template": {"metadata": {"labels": {"app": "fake"}}, "spec": self.pod_spec(start)},
        });
        if self.owner != Owner::DaemonSet {
            spec["replicas"] = self.replicas.into();
        }
        extend(&mut spec, self.workload.clone());
        spec
    }

    fn pod_spec(&self, start: Timestamp) -> Value {
        let args = |port: u16| {
            let listen = format!("--listen=0.0.0.0:{port}");
            vec!["serve".to_owned(), "--script=/script/scenario.yaml".to_owned(), format!("--start={start}"), listen]
        };
        let mut app = args(8080);
        if self.owner != Owner::StatefulSet {
            app.push(format!("--replica={}", self.part));
        }
        let mut app = container("app", app);
        app["ports"] = json!([{"name": "http", "containerPort": 8080}]);
        app["volumeMounts"].as_array_mut().unwrap().extend(self.mounts.clone());
        extend(&mut app, self.container.clone());
        let mut containers = vec![app];
        if self.sidecar {
            let mut sidecar = args(8081);
            sidecar.push(format!("--replica={SIDECAR}"));
            containers.push(container("sidecar", sidecar));
        }
        let mut pod = pod(containers);
        pod["volumes"] = self.volumes.clone().into();
        extend(&mut pod, self.pod.clone());
        pod
    }
}

/// A pod's spec that restricted pod security lets in.
pub fn pod(containers: Vec<Value>) -> Value {
    json!({
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": containers,
    })
}

/// A container of the fake app's image that restricted pod security lets in.
pub fn container(name: &str, args: Vec<String>) -> Value {
    json!({
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": args,
        "volumeMounts": [{"name": "script", "mountPath": "/script", "readOnly": true}],
        "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
    })
}

fn extend(object: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("{fields} are no fields") };
    object.as_object_mut().unwrap().extend(fields);
}
