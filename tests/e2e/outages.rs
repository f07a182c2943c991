//! Times without a part of the whole.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;
use probe_policy::fake_app::load::Outcome;
use serde_json::json;
use tokio::process::Command;

use crate::support::{Cluster, Fleet, Namespace, Process, RULES, UNGUARDED, What, Witness, let_pass, scale, seconds};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn without_controllers_new_pods_wait_and_are_admitted_when_they_are_back() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "away").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([{"replica": 1, "at": 1, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(faults)).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    scale(&cluster.client, 0).await;
    namespace.scale(4).await;
    for pod in ["fake-2", "fake-3"] {
        witness.sees(pod, What::ContainerStarted("app".to_owned()), ejected).await;
    }
    let_pass(10).await;
    let admitted = |it: &crate::support::Happening| it.what == What::BecameReady;
    assert!(!witness.since(ejected).iter().any(admitted), "{:#?}", witness.since(ejected));

    scale(&cluster.client, 2).await;
    for pod in ["fake-2", "fake-3"] {
        witness.enters_pool(pod, ejected).await;
    }
    let_pass(5).await;
    assert_eq!(witness.restarts_since(start), []);
    let moved = |it: &crate::support::Happening| it.pod == "fake-0" || it.pod == "fake-1";
    assert_eq!(witness.since(ejected).into_iter().filter(moved).collect::<Vec<_>>(), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_restart_of_the_api_server_under_load_moves_no_verdict() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "api").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([
        {"replica": 1, "at": 0, "dependencyLost": {"for": 3000}},
        {"replica": 2, "at": 40, "dependencyLost": {"for": 3000}},
    ]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).faults(faults)).await;
    let load = namespace.load(25).await;
    witness.leaves_pool("fake-1", start).await;
    let before = Timestamp::now();

    restart_api_server(&cluster).await;
    let requests = load.finish().await;
    // Proof that they watch and act again.
    witness.leaves_pool("fake-2", before).await;

    let moved: Vec<_> = witness.since(before).into_iter().filter(|it| it.at < start + seconds(40)).collect();
    assert_eq!(moved, []);
    assert_eq!(witness.restarts_since(start), []);
    let lost = requests.iter().filter(|it| it.sent > before + seconds(2) && it.outcome != Outcome::Served);
    assert_eq!(lost.count(), 0, "{requests:#?}");
}

/// Where it runs as a pod its process is killed, and its kubelet starts it again.
async fn restart_api_server(cluster: &Cluster) {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), "kube-system");
    let api_servers = pods.list(&ListParams::default().labels("component=kube-apiserver")).await.unwrap().items;
    match api_servers.first() {
        Some(pod) => {
            let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
            Process::of_container(status.and_then(|it| it.container_id.as_deref()).unwrap()).kill().await;
        }
        None => {
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/cluster");
            let status = Command::new(script).args(["api-server", "restart"]).status().await.unwrap();
            assert!(status.success(), "{script} api-server restart");
        }
    }
}
