//! The watches and the index against a real API server and a real kubelet.
#![expect(clippy::unwrap_used, reason = "a test that cannot reach its cluster has failed")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use probe_policy::api::{ProbePolicy, crd};
use probe_policy::cluster::{Clients, Index, Scope, SliceWatch, WatchEvent, watch};
use probe_policy::engine::{Container, ContainerState, GateSeen, Input, NodeState, Observation, Target, Time};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_real_pod_is_seen_to_run_and_to_go() {
    let client = Clients::infer().await.unwrap().reader;
    let namespace = format!("cluster-watch-{}", std::process::id());
    let namespaces = Api::<Namespace>::all(client.clone());
    create(&namespaces, json!({"metadata": {"name": namespace}})).await;
    let seen = tokio::spawn(see_a_pod_come_and_go(client, namespace.clone())).await;
    namespaces.delete(&namespace, &DeleteParams::default()).await.unwrap();
    seen.unwrap();
}

async fn see_a_pod_come_and_go(client: Client, namespace: String) {
    create(&Api::<CustomResourceDefinition>::all(client.clone()), json!(crd())).await;
    let stop = CancellationToken::new();
    let mut world = World::watch(client.clone(), &stop);
    while !world.index.is_synced() {
        world.next().await;
    }
    let replay = world.index.replay();
    assert_eq!(replay.last(), Some(&Input::Synced));
    assert!(replay.iter().any(|input| matches!(input, Input::NodeSeen { state: NodeState::Ready, .. })), "{replay:?}");

    create(&Api::<ServiceAccount>::namespaced(client.clone(), &namespace), json!({"metadata": {"name": "default"}}))
        .await;
    create(&Api::<ProbePolicy>::namespaced(client.clone(), &namespace), policy()).await;
    let pods = Api::<Pod>::namespaced(client, &namespace);
    create(&pods, pod()).await;
    let running = loop {
        let seen = world.observation().await;
        if let Some(Target::Container(container @ Container { state: ContainerState::Running { .. }, .. })) =
            seen.targets.liveness
        {
            assert_ne!(seen.gate, GateSeen::Ungated, "somebody may have written it, but it is there");
            break container;
        }
    };
    let replica = world.replica.unwrap();
    let pod = world.index.pod(replica).unwrap();
    assert_eq!((&*pod.name.namespace, !pod.addresses.is_empty()), (namespace.as_str(), true));
    assert!(world.index.container_id(replica, running.incarnation).unwrap().starts_with("containerd://"));

    pods.delete("a", &DeleteParams::default().grace_period(1)).await.unwrap();
    while !world.next().await.contains(&Input::ReplicaGone { replica }) {}
    assert_eq!(world.index.pod(replica), None);
    stop.cancel();
    while world.events.recv().await.is_some() {}
}

/// What the watches deliver, and the replica of this test's pod once it was told.
struct World {
    events: mpsc::Receiver<WatchEvent>,
    index: Index,
    replica: Option<probe_policy::engine::ReplicaKey>,
}

impl World {
    fn watch(client: Client, stop: &CancellationToken) -> Self {
        let (send, events) = mpsc::channel(16);
        tokio::spawn(watch(client, Scope::Cluster, SliceWatch::On, send, stop.clone()));
        Self { events, index: Index::new(&Scope::Cluster), replica: None }
    }

    async fn next(&mut self) -> Vec<Input> {
        let event = tokio::time::timeout(Duration::from_secs(120), self.events.recv());
        let event = event.await.expect("the watches were silent for two minutes").unwrap();
        self.index.apply(event, Time::ZERO)
    }

    /// The next observation of a pod that a policy keeps: no other test's policies may be on the cluster's namespace.
    async fn observation(&mut self) -> Observation {
        loop {
            for input in self.next().await {
                if let Input::ReplicaSeen { replica, seen } = input
                    && self.index.pod(replica).is_some_and(|pod| pod.labels.get("app").is_some_and(|app| app == APP))
                {
                    self.replica = Some(replica);
                    return *seen;
                }
            }
        }
    }
}

const APP: &str = "cluster-watch-test";

fn policy() -> Value {
    json!({
        "apiVersion": "probepolicy.dev/v1alpha1",
        "kind": "ProbePolicy",
        "metadata": {"name": "watched"},
        "spec": {"selector": {"matchLabels": {"app": APP}}, "liveness": {"tcpSocket": {"port": 8080}}},
    })
}

fn pod() -> Value {
    json!({
        "metadata": {"name": "a", "labels": {"app": APP}},
        "spec": {
            "containers": [{"name": "app", "image": "localhost/pause:cluster", "imagePullPolicy": "Never"}],
            "readinessGates": [{"conditionType": "probepolicy.dev/ready"}],
            "terminationGracePeriodSeconds": 1,
        },
    })
}

/// Creates an object; one that is there already will do.
async fn create<K>(api: &Api<K>, object: Value)
where
    K: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object: K = serde_json::from_value(object).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("{error}"),
    }
}
