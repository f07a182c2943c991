//! One fault, one decision.

use k8s_openapi::api::events::v1::Event;
use k8s_openapi::jiff::SignedDuration;
use kube::api::ListParams;
use probe_policy::api::TransitionStatus;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, eventually, let_pass, seconds};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_stuck_pod_is_restarted_once_by_eviction() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "stuck").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::stateful_set(3).faults(json!([{"replica": 1, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    witness.sees("fake-1", What::Evicted, start).await;
    witness.enters_pool("fake-1", start).await;
    let_pass(6).await; // twice what detection takes

    let restarts = witness.restarts_since(start);
    assert_eq!(restarts.len(), 1, "{restarts:#?}");
    assert_eq!((restarts[0].pod.as_str(), &restarts[0].what), ("fake-1", &What::Ending));
    let status = namespace.status("fake").await;
    assert_eq!((status.restarts.total, status.restarts.in_startup), (1, 0));
    let told = status.transitions.iter().find(|it| it.kind == "Restarted").expect("a restart in the transitions");
    assert_eq!(told.pod.as_deref(), Some("fake-1"));
    assert!(told.message.contains("the liveness rule failed 3 of 3 times in a row"), "{}", told.message);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_pod_that_lost_its_dependency_is_ejected_and_admitted_again_without_a_restart() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "dependency").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let fleet = Fleet::stateful_set(2).faults(json!([{"replica": 1, "at": 1, "dependencyLost": {"for": 6}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let out = witness.leaves_pool("fake-1", start).await;
    let back = witness.enters_pool("fake-1", out).await;
    assert!(out >= start + seconds(1) && back >= start + seconds(7), "out at {out}, back at {back}, start at {start}");
    let_pass(4).await;

    let happened = witness.since(start);
    assert!(happened.iter().all(|it| it.pod == "fake-1"), "{happened:#?}");
    let is_of_slice = |it: &What| matches!(it, What::LeftSlice | What::EnteredSlice);
    let (slice, pod): (Vec<_>, Vec<_>) = happened.into_iter().map(|it| it.what).partition(is_of_slice);
    assert_eq!(slice, [What::LeftSlice, What::EnteredSlice]);
    assert_eq!(pod, [What::GateClosed, What::BecameUnready, What::GateOpened, What::BecameReady]);
    let ejected = eventually("the times of the ejection", async || {
        let transitions = namespace.status("fake").await.transitions;
        let has_its_times = |it: &&TransitionStatus| it.effective.is_some() && it.propagated.is_some();
        let ejected = transitions.iter().filter(has_its_times).find(|it| it.kind == "Ejected");
        ejected.cloned().ok_or_else(|| format!("{transitions:#?}"))
    })
    .await;
    assert!(Some(&ejected.decided) <= ejected.published.as_ref() && ejected.published <= ejected.effective);
    let propagated = ejected.propagated.unwrap().0;
    assert!(ejected.decided.0 < propagated, "{:?}, {propagated}", ejected.decided);
    let apart = propagated.duration_since(out).abs(); // both watches see the same event
    assert!(apart < SignedDuration::from_secs(1), "our watch saw it at {propagated}, the witness at {out}");
    let events = namespace.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let of_ejection = |event: &&Event| event.reason.as_deref() == Some("Ejected");
    assert_eq!(events.iter().filter(of_ejection).count(), 1, "{events:#?}");
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_fleet_of_one_is_restarted_with_every_guard_at_its_default() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "single").await;
    namespace.policy("fake", &["mode: Enforce", RULES]).await;
    let fleet = Fleet::deployment(1).faults(json!([{"replica": 0, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    witness.sees_first("an eviction", start, |it| it.what == What::Evicted).await;
    witness.sees_first("a new pod in the pool", start, |it| it.what == What::EnteredSlice).await;
    assert_eq!(witness.restarts_since(start).len(), 1);
}
