//! Leaders that die or freeze.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::support::{
    Cluster, Fleet, Happening, Namespace, RULES, UNGUARDED, What, Witness, eventually, leader, let_pass, other_leader,
    seconds, until,
};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_killed_leader_leaves_every_verdict_and_the_backoff() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "killed").await;
    let restart = "restart: {gracePeriod: 1s, maxConcurrent: 100%, backoff: {initial: 40s}}";
    namespace.policy("fake", &["mode: Enforce", RULES, restart]).await;
    let faults = json!([
        {"replica": 1, "at": 1, "dependencyLost": {"for": 3000}},
        {"replica": 2, "at": 1, "stuck": {}},
        {"replica": 2, "at": 15, "stuck": {}},
        {"replica": 2, "at": 30, "stuck": {}},
    ]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).faults(faults)).await;
    let restarted = witness.sees("fake-2", What::Ending, start).await;
    let back = witness.enters_pool("fake-2", restarted).await;
    witness.leaves_pool("fake-2", back).await; // stuck again

    let killed = Timestamp::now();
    let victim = leader(&cluster.client).await;
    victim.process.kill().await;
    other_leader(&cluster.client, &victim.name).await;
    let again = witness.sees("fake-2", What::Ending, restarted).await;

    assert!(again >= restarted + seconds(39), "restarted at {restarted} and {again}");
    let moved: Vec<_> =
        witness.since(killed).into_iter().filter(|it| it.at < again && it.what != What::Evicted).collect();
    assert_eq!(moved, []);
    eventually("the second restart in the status", async || match namespace.status("fake").await.restarts {
        restarts if restarts.total == 2 => Ok(()),
        restarts => Err(format!("{restarts:?}")),
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_leader_killed_between_intent_and_eviction_is_one_restart_in_the_end() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "intent").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let budget = json!({"maxUnavailable": 0, "selector": {"matchLabels": {"app": "fake"}}});
    namespace.apply::<PodDisruptionBudget>(json!({"metadata": {"name": "fake"}, "spec": budget})).await;
    let fleet = Fleet::stateful_set(2).faults(json!([{"replica": 1, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    // The budget refuses the eviction and the leader takes the intent back, a second later at the earliest: one that
    // is still there belongs to the dead leader.
    let has_intent = async || {
        let seats = namespace.status("fake").await.seats;
        let found = seats.iter().any(|seat| seat.intent.is_some());
        if found { Ok(()) } else { Err(format!("{seats:?}")) }
    };
    loop {
        let victim = leader(&cluster.client).await;
        eventually("an intent", has_intent).await;
        victim.process.kill().await;
        if has_intent().await.is_ok() {
            break;
        }
        other_leader(&cluster.client, &victim.name).await;
    }
    namespace.delete::<PodDisruptionBudget>("fake").await;

    witness.enters_pool("fake-1", start).await;
    let_pass(6).await;
    let restarts = witness.restarts_since(start);
    assert_eq!(restarts.len(), 1, "{restarts:#?}");
    let moved = |it: &&Happening| it.pod != "fake-1";
    assert_eq!(witness.since(start).iter().find(moved), None);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_leader_that_was_frozen_past_its_lease_does_nothing_when_it_goes_on() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "frozen").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::stateful_set(2).faults(json!([{"replica": 1, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let frozen = leader(&cluster.client).await;
    until(start + seconds(3)).await; // two of the three failures are in
    frozen.process.stop().await;
    witness.sees("fake-1", What::Ending, start).await; // by the other one
    witness.enters_pool("fake-1", start).await;
    let resumed = Timestamp::now();
    frozen.process.resume().await;
    let_pass(8).await;

    assert_eq!(witness.since(resumed), []);
    assert_eq!(witness.restarts_since(start).len(), 1);
    assert_eq!(namespace.status("fake").await.restarts.total, 1);
}
