//! One fault of many replicas, and what else goes on in a fleet while one of them fails.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::EvictParams;
use probe_policy::api::conditions::{BREAKER_OPEN, NEVER_PASSED, SHARED_FAILURE};
use serde_json::{Value, json};

use crate::support::{
    Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, condition, eventually, leader, let_pass,
};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_dependency_that_all_have_lost_ejects_nobody() {
    let stage = Stage::set("shared", json!({"sharedFailure": "Hold"}), &all_lose_their_dependency()).await;
    let message = stage.namespace.condition("fake", SHARED_FAILURE, "NoWorseThanNeighbours").await;
    assert!(message.starts_with("fake-") && message.contains("of 4"), "{message}");
    stage.back_to_normal(SHARED_FAILURE).await;
    assert_eq!(stage.witness.since(stage.start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_dependency_that_all_have_lost_ejects_everybody_where_that_is_ignored() {
    let stage = Stage::set("unshared", json!({"sharedFailure": "Ignore"}), &all_lose_their_dependency()).await;
    for pod in ["fake-0", "fake-1", "fake-2", "fake-3"] {
        let out = stage.witness.leaves_pool(pod, stage.start).await;
        stage.witness.enters_pool(pod, out).await;
    }
    assert_eq!(stage.witness.restarts_since(stage.start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn of_many_that_are_stuck_at_once_one_is_restarted_on_trial_and_then_the_others() {
    let stuck: Vec<_> = (0..4).map(|replica| json!({"replica": replica, "at": 2, "stuck": {}})).collect();
    let breaker = json!({"breaker": {"openAt": "50%", "cooldown": "2s", "trial": "3s"}});
    let stage = Stage::set("breaker", breaker, &Fleet::stateful_set(4).faults(json!(stuck))).await;
    let Stage { namespace, witness, start, .. } = &stage;

    let message = namespace.condition("fake", BREAKER_OPEN, "Trying").await;
    assert!(message.starts_with("4 of 4 judged replicas failed"), "{message}");
    let trial = witness.sees_first("an eviction", *start, |it| it.what == What::Evicted).await;
    let returned = witness.sees(&trial.pod, What::GateOpened, trial.at).await;
    let before = witness.restarts_since(*start).into_iter().filter(|it| it.at < returned);
    assert_eq!(before.map(|it| it.pod).collect::<Vec<_>>(), [trial.pod.as_str()]);

    stage.back_to_normal(BREAKER_OPEN).await;
    namespace.all_ready(4).await;
    let mut restarted: Vec<_> = witness.restarts_since(*start).into_iter().map(|it| it.pod).collect();
    restarted.sort();
    assert_eq!(restarted, ["fake-0", "fake-1", "fake-2", "fake-3"]);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_port_where_nobody_was_ever_reached_ejects_nothing_that_is_in() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "unreachable").await;
    namespace.policy("fake", &["mode: Observe", RULES, UNGUARDED]).await;
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2)).await;

    let unreachable = json!({"httpGet": {"port": 9}, "failureThreshold": 1});
    namespace.edit_policy("fake", json!({"mode": "Enforce", "liveness": unreachable, "readiness": unreachable})).await;
    let message = namespace.condition("fake", NEVER_PASSED, "NoPassYet").await;
    assert!(message.contains("liveness") && message.contains("readiness"), "{message}");
    let_pass(5).await;
    assert_eq!(witness.since(start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn pods_on_a_node_to_which_the_path_is_cut_are_neither_ejected_nor_restarted() {
    let rules = json!({"sharedFailure": "Hold", "breaker": {"openAt": "50%"}});
    let stage = Stage::set("cut", rules, &Fleet::stateful_set(5)).await;
    let Stage { namespace, witness, start, .. } = &stage;

    let (node, addresses) = fewest_pods(namespace).await;
    let there = format!("{n} of {n} on node {node}: connect timeout", n = addresses.len());
    let cut = leader(&namespace.client).await.process.cut_off_from(addresses);
    eventually("both decisions held", async || {
        let status = namespace.status("fake").await;
        let found = condition(&status, SHARED_FAILURE).map(|it| it.message.clone()).unwrap_or_default();
        let held = found.contains(&format!("(node {node})")) && found.contains(&there);
        if held { Ok(()) } else { Err(found) }
    })
    .await;
    let_pass(5).await;
    drop(cut);
    stage.back_to_normal(SHARED_FAILURE).await;
    assert_eq!(witness.since(*start), []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_that_is_drained_while_it_is_ejected_ends_and_its_successor_is_admitted() {
    let lost = json!([{"replica": 1, "at": 1, "dependencyLost": {"for": 8}}]);
    let stage = Stage::set("drain", json!({}), &Fleet::stateful_set(2).faults(lost)).await;
    let Stage { namespace, witness, start, .. } = &stage;

    let out = witness.leaves_pool("fake-1", *start).await;
    namespace.api::<Pod>().evict("fake-1", &EvictParams::default()).await.unwrap();
    witness.sees("fake-1", What::Gone, out).await;
    witness.enters_pool("fake-1", out).await;
    assert!(witness.since(*start).iter().all(|it| it.pod == "fake-1"), "{:#?}", witness.since(*start));
    let restarts = namespace.status("fake").await.restarts;
    assert_eq!((witness.restarts_since(*start).len(), restarts.total), (1, 0));
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_fleet_that_is_scaled_up_while_one_is_stuck_restarts_that_one_alone() {
    let stuck = json!([{"replica": 1, "at": 1, "stuck": {}}]);
    let stage = Stage::set("scaled", json!({}), &Fleet::stateful_set(2).faults(stuck)).await;
    let Stage { namespace, witness, start, .. } = &stage;

    namespace.scale(4).await;
    let evicted = witness.sees("fake-1", What::Evicted, *start).await;
    witness.enters_pool("fake-1", evicted).await;
    namespace.all_ready(4).await;
    let restarted: Vec<_> = witness.restarts_since(*start).into_iter().map(|it| it.pod).collect();
    assert_eq!(restarted, ["fake-1"]);
}

/// Four that lose their dependency at the same time, for six seconds.
fn all_lose_their_dependency() -> Fleet {
    let lost: Vec<_> =
        (0..4).map(|replica| json!({"replica": replica, "at": 2, "dependencyLost": {"for": 6}})).collect();
    Fleet::stateful_set(4).faults(json!(lost))
}

/// The node with the fewest fake apps, and their addresses.
async fn fewest_pods(namespace: &Namespace) -> (String, Vec<String>) {
    let mut by_node = BTreeMap::<String, Vec<String>>::new();
    for pod in namespace.pods().await {
        let address = pod.status.and_then(|status| status.pod_ip).unwrap();
        by_node.entry(pod.spec.and_then(|spec| spec.node_name).unwrap()).or_default().push(address);
    }
    assert!(by_node.len() > 1 && by_node.values().all(|pods| pods.len() > 1), "two on each node: {by_node:?}");
    by_node.into_iter().min_by_key(|(_, pods)| pods.len()).unwrap()
}

/// A fleet under a policy, and who watches it from the beginning of its script.
struct Stage {
    namespace: Namespace,
    witness: Witness,
    start: Timestamp,
    /// Held as long as the test goes on: nobody else may take the API server away meanwhile.
    _cluster: Cluster,
}

impl Stage {
    /// Three failures in a row eject, so that the others are heard before; `fleet` are the rules about neighbours.
    async fn set(theme: &str, rules: Value, fleet: &Fleet) -> Self {
        let cluster = Cluster::shared().await;
        let namespace = Namespace::new(&cluster, theme).await;
        namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
        namespace.edit_policy("fake", json!({"readiness": {"failureThreshold": 3}, "fleet": rules})).await;
        let witness = Witness::new(&namespace).await;
        let start = namespace.launch(fleet).await;
        Self { namespace, witness, start, _cluster: cluster }
    }

    /// Waits until a condition that was true is false again.
    async fn back_to_normal(&self, type_: &str) {
        eventually(&format!("{type_} is over"), async || {
            let status = self.namespace.status("fake").await;
            let found = condition(&status, type_).cloned();
            if found.as_ref().is_some_and(|it| it.status == "False") { Ok(()) } else { Err(format!("{found:?}")) }
        })
        .await;
    }
}
