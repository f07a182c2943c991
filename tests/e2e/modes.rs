//! What happens to the gate when nobody enforces.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use probe_policy::api::conditions::{PAUSE_INVALID, PAUSED};
use probe_policy::api::{PAUSED_REASON, PAUSED_UNTIL, ProbePolicy};
use serde_json::json;

use crate::support::{
    Cluster, Fleet, Happening, Namespace, RULES, UNGUARDED, What, Witness, eventually, let_pass, seconds,
};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn observing_restarts_and_ejects_nothing_though_it_judges() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "observe").await;
    namespace.policy("fake", &[RULES, UNGUARDED]).await; // Observe is the default
    let faults = json!([
        {"replica": 1, "at": 1, "stuck": {}},
        {"replica": 2, "at": 1, "dependencyLost": {"for": 600}},
    ]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).faults(faults)).await;

    eventually("two failing replicas", async || {
        let status = namespace.status("fake").await;
        if status.failing == 2 { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    let_pass(6).await;

    assert_eq!(witness.since(start), []);
    let status = namespace.status("fake").await;
    assert_eq!((status.replicas, status.in_pool, status.restarts.total), (3, 3, 0));
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_paused_policy_lets_new_pods_in_and_leaves_the_others() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "paused").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([{"replica": 1, "at": 0, "dependencyLost": {"for": 3000}}]);
    let fleet = Fleet::stateful_set(2).startup(3000).faults(faults);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    namespace.edit_policy("fake", json!({"mode": "Paused"})).await;
    namespace.scale(3).await;
    witness.enters_pool("fake-2", ejected).await; // though it starts for ever
    let_pass(4).await;

    let moved: Vec<_> = witness.since(ejected).into_iter().filter(|it| it.pod != "fake-2").collect();
    assert_eq!(moved, []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_paused_pod_is_let_alone_and_restarted_once_its_pause_is_over() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "pause").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([{"replica": 1, "at": 20, "stuck": {}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(faults)).await;
    namespace.all_ready(2).await;

    annotate(&namespace, json!({PAUSED_REASON: "heap dump"})).await;
    let message = namespace.condition("fake", PAUSE_INVALID, "NoInstant").await;
    assert!(message.contains("fake-1: metadata.annotations[probepolicy.dev/paused-until]"), "{message}");

    let until = start + seconds(40);
    annotate(&namespace, json!({PAUSED_UNTIL: until.to_string()})).await;
    let message = namespace.condition("fake", PAUSED, "Pods").await;
    assert_eq!(message, format!("no attempts at fake-1 until {until} (heap dump)"));
    let evicted = witness.sees("fake-1", What::Evicted, start).await;
    assert!(evicted > until, "evicted at {evicted}");
}

async fn annotate(namespace: &Namespace, annotations: serde_json::Value) {
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    namespace.api::<Pod>().patch("fake-1", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn gates_open_half_a_minute_after_the_last_policy_is_gone_and_stay_open() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "deleted").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults =
        json!([{"replica": 1, "at": 0, "dependencyLost": {"for": 3000}}, {"replica": 0, "at": 20, "stuck": {}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(faults)).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    let deleted = Timestamp::now();
    namespace.delete::<ProbePolicy>("fake").await;
    let opened = witness.sees("fake-1", What::GateOpened, ejected).await;
    assert!(opened >= deleted + seconds(29), "deleted at {deleted}, opened at {opened}");
    witness.enters_pool("fake-1", opened).await;

    // By now fake-0 has been stuck for longer than the policy would have borne.
    let closed = |it: &&Happening| it.what == What::GateClosed || it.what == What::Ending;
    assert_eq!(witness.since(ejected).iter().find(closed), None);
}
