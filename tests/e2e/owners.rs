//! What outlives a pod under each kind of owner.

use probe_policy::api::SeatName;
use probe_policy::api::conditions::{LOOPING, RESTART_HELD};
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, eventually};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn under_a_deployment_a_loop_is_a_loop_across_pod_names_and_the_backoff_grows() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "loop").await;
    // A process that is stuck from its first attempt on never passes startup, and is restarted for that.
    let rules = RULES.replace("failureThreshold: 60", "failureThreshold: 3");
    let restart = "restart: {gracePeriod: 1s, backoff: {initial: 6s}, loopAfter: 3}";
    namespace.policy("fake", &["mode: Enforce", &rules, restart]).await;
    let stuck: Vec<_> = (0..60).map(|n| json!({"replica": 0, "at": 1 + 5 * n, "stuck": {}})).collect();
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::deployment(1).startup(0).faults(json!(stuck))).await;

    let message = eventually("a loop", async || {
        let status = namespace.status("fake").await;
        let looping = crate::support::condition(&status, LOOPING).filter(|it| it.status == "True");
        looping.map(|it| it.message.clone()).ok_or_else(|| format!("{:?}", status.restarts))
    })
    .await;
    let status = namespace.status("fake").await;
    assert_eq!((status.restarts.total, status.restarts.in_loop), (3, 1), "{message}");

    let restarts = witness.restarts_since(start);
    let gaps: Vec<_> = restarts.windows(2).map(|pair| pair[1].at.duration_since(pair[0].at)).collect();
    assert_eq!(restarts.len(), 3, "{restarts:#?}");
    assert!(gaps[0].as_millis() >= 5_900 && gaps[1].as_millis() >= 11_900, "{gaps:?}");
    let names: std::collections::BTreeSet<_> = restarts.iter().map(|it| &it.pod).collect();
    assert_eq!(names.len(), 3, "each was another pod: {names:?}");
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn under_a_daemon_set_the_seat_is_the_node() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "node").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::daemon_set(&namespace).await.faults(json!([{"replica": 0, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    witness.sees_first("an eviction", start, |it| it.what == What::Evicted).await;
    let seats = eventually("a seat that remembers", async || {
        let seats = namespace.status("fake").await.seats;
        let remembers = seats.iter().any(|seat| seat.restarts == 1);
        if remembers { Ok(seats) } else { Err(format!("{seats:?}")) }
    })
    .await;
    assert!(seats.iter().all(|seat| matches!(seat.name, SeatName::Node(_))), "{seats:?}");
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn under_an_ordered_stateful_set_a_restart_waits_while_a_lower_ordinal_is_not_ready() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "ordered").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([
        {"replica": 0, "at": 1, "dependencyLost": {"for": 15}},
        {"replica": 1, "at": 2, "stuck": {}},
    ]);
    let ordered = json!({"podManagementPolicy": "OrderedReady"});
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).workload(ordered).faults(faults)).await;

    let message = namespace.condition("fake", RESTART_HELD, "LowerOrdinalNotReady").await;
    assert!(message.starts_with("fake-1: the liveness rule wants a restart"), "{message}");
    assert_eq!(witness.restarts_since(start), []);
    let ready = witness.sees("fake-0", What::BecameReady, start).await;
    let restarted = witness.sees("fake-1", What::Ending, start).await;
    assert!(restarted > ready, "fake-0 Ready at {ready}, fake-1 restarted at {restarted}");
    namespace.all_ready(2).await;
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn under_a_foreign_controller_a_pod_is_restarted_only_where_the_policy_says_so() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "foreign").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::foreign().faults(json!([{"replica": 0, "at": 1, "stuck": {}}]))).await;

    let message = namespace.condition("fake", RESTART_HELD, "NotRecreated").await;
    assert!(message.starts_with("fake: the liveness rule wants a restart"), "{message}");
    assert_eq!(witness.restarts_since(start), []);
    let on_our_word = UNGUARDED.replace("restart: {", "restart: {otherOwners: Restart, ");
    assert_ne!(on_our_word, UNGUARDED);
    namespace.policy("fake", &["mode: Enforce", RULES, &on_our_word]).await;
    witness.sees_first("an eviction", start, |it| it.what == What::Evicted).await;
}
