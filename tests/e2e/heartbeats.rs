//! Pods that say by a Lease that they are there.

use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::jiff::Timestamp;
use probe_policy::api::BEATS;
use probe_policy::api::conditions::NEVER_PASSED;
use probe_policy::runtime::request::ask;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, Witness, kubectl, let_pass, seconds};

const HEARTBEAT: &str = "
heartbeat: {timeToLive: 4s}
pool: {minReady: 0}
fleet: {sharedFailure: Ignore}
";

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_that_stops_beating_leaves_the_pool_and_is_back_when_it_beats_again() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "beats").await;
    let_beat(&namespace).await;
    namespace.policy("fake", &["mode: Observe", HEARTBEAT]).await;
    let faults = json!([{"replica": 1, "at": 10, "silent": {"for": 20}}]);
    let witness = Witness::new(&namespace).await;
    // Nobody beats before the script begins.
    let start = namespace.launch(&Fleet::stateful_set(3).beating().faults(faults)).await;
    namespace.edit_policy("fake", json!({"mode": "Enforce"})).await;

    let left = witness.leaves_pool("fake-1", start).await;
    assert!(left >= start + seconds(12), "it beat last at {start} and 9s, and was out at {left}");
    let back = witness.enters_pool("fake-1", left).await;
    assert!(back >= start + seconds(29), "it beats again from {start} and 30s on, and was back at {back}");

    assert_eq!(reason_of_ejection(&namespace, "fake-1").await, "NoBeat");
    assert_eq!(others_moved(&witness, start), []);
    assert_eq!(witness.restarts_since(start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_that_deletes_its_lease_leaves_the_pool_at_once() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "leaves").await;
    let_beat(&namespace).await;
    namespace.policy("fake", &["mode: Observe", "heartbeat: {timeToLive: 10m}", "pool: {minReady: 0}"]).await;
    let faults = json!([{"replica": 1, "at": 10, "stopped": {"for": 20, "graceful": true}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).beating().faults(faults)).await;
    namespace.edit_policy("fake", json!({"mode": "Enforce"})).await;

    // Its last beat would have counted for ten minutes.
    let left = witness.leaves_pool("fake-1", start).await;
    witness.enters_pool("fake-1", left).await;
    assert_eq!(reason_of_ejection(&namespace, "fake-1").await, "Deregistered");
    assert_eq!(others_moved(&witness, start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_that_beats_over_http_is_in_for_as_long_as_it_does() {
    let cluster = Cluster::shared().await;
    let controllers = beats_over_http().await;
    let namespace = Namespace::new(&cluster, "http-beats").await;
    namespace.policy("fake", &["mode: Observe", HEARTBEAT]).await;
    let faults = json!([
        {"replica": 0, "at": 10, "silent": {"for": 20}},
        {"replica": 1, "at": 40, "stopped": {"for": 20, "graceful": true}},
    ]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).beating_over_http(&controllers).faults(faults)).await;
    namespace.edit_policy("fake", json!({"mode": "Enforce"})).await;

    let left = witness.leaves_pool("fake-0", start).await;
    assert!(left >= start + seconds(12), "it beat last at {start} and 9s, and was out at {left}");
    witness.enters_pool("fake-0", left).await;
    let left = witness.leaves_pool("fake-1", start).await;
    witness.enters_pool("fake-1", left).await;
    assert_eq!(reason_of_ejection(&namespace, "fake-1").await, "Deregistered");
    assert!(witness.since(start).iter().all(|it| it.pod != "fake-2"), "{:#?}", witness.since(start));

    // The token of another audience is good for nothing here.
    let token = kubectl(&["-n", &namespace.name, "create", "token", "default"]).await;
    let token = format!("Bearer {}", token.trim());
    let (status, _) = ask(Method::POST, &controllers, BEATS, &[("authorization", &token)]).await.unwrap();
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn pods_that_never_beat_stay_in_and_the_policy_says_so() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "no-beats").await;
    namespace.policy("fake", &["mode: Observe", HEARTBEAT]).await;
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2)).await;
    namespace.edit_policy("fake", json!({"mode": "Enforce"})).await;

    namespace.condition("fake", NEVER_PASSED, "NoBeatYet").await;
    let_pass(8).await;
    assert_eq!(witness.since(start), []);
}

/// Lets pods beat over HTTP, and gives the address at which they do.
async fn beats_over_http() -> String {
    kubectl(&["apply", "-f", "deploy/heartbeat/http.yaml"]).await;
    let address = kubectl(&["-n", "probe-policy", "get", "service", "beats", "-o", "jsonpath={.spec.clusterIP}"]).await;
    format!("{address}:80")
}

/// Gives the fleet's account the right to beat.
async fn let_beat(namespace: &Namespace) {
    namespace.apply::<ServiceAccount>(json!({"metadata": {"name": "fake"}})).await;
    kubectl(&["apply", "-n", &namespace.name, "-f", "deploy/heartbeat/role.yaml"]).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "probe-policy-heartbeat"});
    let subject = json!({"kind": "ServiceAccount", "name": "fake", "namespace": namespace.name});
    namespace
        .apply::<RoleBinding>(json!({"metadata": {"name": "heartbeat"}, "roleRef": role, "subjects": [subject]}))
        .await;
}

/// Why a pod was ejected last, in a word.
async fn reason_of_ejection(namespace: &Namespace, pod: &str) -> String {
    let transitions = namespace.status("fake").await.transitions;
    let ejected = transitions.into_iter().find(|it| it.kind == "Ejected" && it.pod.as_deref() == Some(pod));
    ejected.expect("an ejection in the status").reason
}

fn others_moved(witness: &Witness, start: Timestamp) -> Vec<crate::support::Happening> {
    witness.since(start).into_iter().filter(|it| it.pod != "fake-1").collect()
}
