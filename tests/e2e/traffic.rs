//! Who gets requests.

use probe_policy::fake_app::Truth;
use serde_json::json;

use crate::support::{
    Absence, Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, eventually, kubectl_with, seconds,
};
use k8s_openapi::jiff::Timestamp;

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_is_in_no_slice_before_its_startup_has_passed() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "startup").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let before = Timestamp::now();
    let witness = Witness::new(&namespace).await;
    namespace.deploy(&Fleet::stateful_set(1).startup(6), before).await;

    witness.sees("fake-0", What::ContainerStarted("app".to_owned()), before).await;
    let opened = truth(&namespace, "fake-0").await.opened;
    let ready = witness.sees("fake-0", What::BecameReady, before).await;
    let in_slice = witness.enters_pool("fake-0", before).await;

    let served = opened + seconds(6);
    assert!(ready >= served && in_slice >= served, "opened {opened}, Ready {ready}, in the slice {in_slice}");
    assert_eq!(witness.restarts_since(before), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_service_sends_nothing_to_a_pod_while_it_is_ejected() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "service").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::stateful_set(2).faults(json!([{"replica": 1, "at": 4, "dependencyLost": {"for": 7}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let load = namespace.load(30).await;
    let out = witness.leaves_pool("fake-1", start).await;
    let back = witness.enters_pool("fake-1", out).await;
    let requests = load.finish().await;

    let absence = Absence { start, fault: start + seconds(4), out, back };
    absence.assert_kept("fake-1", &requests);
}

/// What a replica really is.
async fn truth(namespace: &Namespace, pod: &str) -> Truth {
    let path = format!("/api/v1/namespaces/{}/pods/{pod}:8080/proxy/truth", namespace.name);
    eventually("the truth", async || {
        let answer = kubectl_with(&["get", "--raw", &path], "").await;
        serde_json::from_str(&answer.stdout).map_err(|_| answer.stderr)
    })
    .await
}
