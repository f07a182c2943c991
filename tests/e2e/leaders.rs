//! Leaders that die or freeze.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

use crate::support::{
    Cluster, Fleet, Happening, Namespace, RULES, UNGUARDED, What, Witness, eventually, leader, lease_holder, let_pass,
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
    ]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).faults(faults)).await;
    let restarted = witness.sees("fake-2", What::Ending, start).await;
    witness.sees("fake-2", What::EnteredSlice, restarted).await;
    witness.sees("fake-2", What::LeftSlice, start + seconds(15)).await; // stuck again

    let killed = Timestamp::now();
    let old = lease_holder(&cluster.client).await;
    leader(&cluster.client).await.process.kill().await;
    eventually("another leader", async || match lease_holder(&cluster.client).await {
        holder if holder.is_some() && holder != old => Ok(()),
        holder => Err(format!("{holder:?}")),
    })
    .await;
    let again = witness.sees("fake-2", What::Ending, restarted).await;

    assert!(again >= restarted + seconds(39), "restarted at {restarted} and {again}");
    let moved: Vec<_> =
        witness.since(killed).into_iter().filter(|it| it.at < again && it.what != What::Evicted).collect();
    assert_eq!(moved, []);
    assert_eq!(namespace.status("fake").await.restarts.total, 2);
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
    let victim = leader(&cluster.client).await;
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let has_intent = async || {
        let seats = namespace.status("fake").await.seats;
        let found = seats.iter().any(|seat| seat.intent.is_some());
        if found { Ok(()) } else { Err(format!("{seats:?}")) }
    };
    eventually("an intent", has_intent).await;
    victim.process.kill().await;
    namespace.delete::<PodDisruptionBudget>("fake").await;
    has_intent().await.expect("the intent outlives its leader");

    witness.sees("fake-1", What::EnteredSlice, start).await;
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
    witness.sees("fake-1", What::EnteredSlice, start).await;
    let resumed = Timestamp::now();
    frozen.process.resume().await;
    let_pass(8).await;

    assert_eq!(witness.since(resumed), []);
    assert_eq!(witness.restarts_since(start).len(), 1);
    assert_eq!(namespace.status("fake").await.restarts.total, 1);
}
