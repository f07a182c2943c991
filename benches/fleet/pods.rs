//! Pods that run nowhere, and the policy over them.

use futures::{StreamExt, stream};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use probe_policy::api::{GATE, ProbePolicy, crd};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{NAMESPACE, PERIOD, PORT, address};

/// Requests under way at once.
const AT_ONCE: usize = 64;

/// Makes so many, all of them running, ready and with an open gate, and a policy over them.
pub async fn make(client: &Client, pods: usize) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = apply(&definitions, crd()).await.name_any();
    await_condition(definitions, &name, conditions::is_crd_established()).await.unwrap();
    apply(&Api::<Namespace>::all(client.clone()), from(json!({"metadata": {"name": NAMESPACE}}))).await;
    // No controller manager makes it.
    let account: ServiceAccount = from(json!({"metadata": {"name": "default"}}));
    apply(&Api::namespaced(client.clone(), NAMESPACE), account).await;
    let nodes: Api<Node> = Api::all(client.clone());
    apply(&nodes, from(json!({"metadata": {"name": "loopback"}}))).await;
    let ready = json!({"status": {"conditions": [condition("Ready")]}});
    nodes.patch_status("loopback", &PatchParams::default(), &Patch::Merge(ready)).await.unwrap();

    let template = json!({"metadata": {"labels": {"app": "fleet"}}, "spec": spec()});
    let owner: StatefulSet = from(json!({
        "metadata": {"name": "app"},
        "spec": {"replicas": pods, "serviceName": "app", "selector": {"matchLabels": {"app": "fleet"}}, "template": template},
    }));
    let owner = apply(&Api::namespaced(client.clone(), NAMESPACE), owner).await.controller_owner_ref(&()).unwrap();
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let made = stream::iter(0..pods).map(async |pod| {
        let metadata = json!({"name": format!("app-{pod}"), "labels": {"app": "fleet"}, "ownerReferences": [owner]});
        let object: Pod = from(json!({"metadata": metadata, "spec": spec()}));
        let name = api.create(&PostParams::default(), &object).await.unwrap().name_any();
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status(pod))).await.unwrap();
    });
    made.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;

    let policy: ProbePolicy = from(json!({
        "metadata": {"name": "fleet"},
        "spec": {
            "selector": {"matchLabels": {"app": "fleet"}},
            "mode": "Enforce",
            "readiness": {
                "httpGet": {"port": "http", "path": "/healthz"},
                "period": format!("{}s", PERIOD.as_secs()),
                "timeout": "1s",
                "failureThreshold": 1,
            },
            "pool": {"minReady": 0},
            "fleet": {"sharedFailure": "Ignore"},
        },
    }));
    apply(&Api::namespaced(client.clone(), NAMESPACE), policy).await;
}

/// What the policy says of gates that wait to be written.
pub async fn writes_lag(client: &Client) -> String {
    let policies: Api<ProbePolicy> = Api::namespaced(client.clone(), NAMESPACE);
    let status = policies.get("fleet").await.unwrap().status.unwrap_or_default();
    let condition = status.conditions.into_iter().find(|it| it.type_ == "WritesLag").unwrap();
    format!("{}, {}", condition.status, condition.message)
}

async fn apply<K>(api: &Api<K>, object: K) -> K
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    api.patch(&object.name_any(), &PatchParams::apply("bench").force(), &Patch::Apply(&object)).await.unwrap()
}

fn spec() -> Value {
    let ports = json!([{"name": "http", "containerPort": PORT}]);
    json!({
        "nodeName": "loopback",
        "automountServiceAccountToken": false,
        "containers": [{"name": "app", "image": "app", "ports": ports}],
        "readinessGates": [{"conditionType": GATE}],
    })
}

fn status(pod: usize) -> Value {
    let address = address(pod).to_string();
    let state = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let container = json!({
        "name": "app", "image": "app", "imageID": "", "ready": true, "started": true, "restartCount": 0,
        "containerID": format!("none://{pod}"), "state": state,
    });
    json!({"status": {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [condition("Ready"), condition(GATE)],
        "containerStatuses": [container],
    }})
}

fn condition(type_: &str) -> Value {
    json!({"type": type_, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn from<T: DeserializeOwned>(manifest: Value) -> T {
    serde_json::from_value(manifest).unwrap()
}
