//! Disruption budgets.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::jiff::SignedDuration;
use probe_policy::api::conditions::RESTART_HELD;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, eventually, let_pass};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_budgets_refusal_is_told_and_the_restart_is_done_once_the_budget_allows_it() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "budget").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    allow(&namespace, 0).await;
    let fleet = Fleet::stateful_set(2).faults(json!([{"replica": 1, "at": 1, "stuck": {}}]));
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let message = namespace.condition("fake", RESTART_HELD, "BlockedByBudget").await;
    let sentence = "fake-1: the liveness rule wants a restart, but a disruption budget does not allow it now";
    assert!(message.starts_with(sentence) && message.ends_with("unhealthyPodEvictionPolicy: AlwaysAllow"), "{message}");
    let_pass(3).await; // in which it is tried again
    assert_eq!(witness.restarts_since(start), []);

    allow(&namespace, 1).await;
    witness.sees("fake-1", What::Evicted, start).await;
    witness.enters_pool("fake-1", start).await;
    assert_eq!(witness.restarts_since(start).len(), 1);
    eventually("no restart that waits", async || {
        let status = namespace.status("fake").await;
        let held = crate::support::condition(&status, RESTART_HELD).cloned();
        if held.as_ref().is_some_and(|it| it.status == "False") { Ok(()) } else { Err(format!("{held:?}")) }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn two_sick_pods_use_a_budget_up_by_being_sick_unless_it_always_allows_them_to_go() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "sick").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    allow(&namespace, 1).await;
    // They are ejected at once, and wanted restarted only seconds later.
    let faults = json!([{"replica": 1, "at": 15, "stuck": {}}, {"replica": 2, "at": 15, "stuck": {}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(4).faults(faults)).await;

    namespace.condition("fake", RESTART_HELD, "BlockedByBudget").await;
    let_pass(5).await; // in which it is tried again
    assert_eq!(witness.restarts_since(start), []);

    apply(&namespace, 1, "AlwaysAllow").await;
    for pod in ["fake-1", "fake-2"] {
        witness.sees(pod, What::Evicted, start).await;
        witness.enters_pool(pod, start).await;
    }
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_restart_budget_that_is_spent_says_when_the_next_restart_may_be() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "spent").await;
    let budget = UNGUARDED.replace("restart: {", "restart: {budget: {restarts: 1, per: 40s}, ");
    namespace.policy("fake", &["mode: Enforce", RULES, &budget]).await;
    let faults = json!([{"replica": 0, "at": 1, "stuck": {}}, {"replica": 1, "at": 1, "stuck": {}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(faults)).await;

    let message = namespace.condition("fake", RESTART_HELD, "RestartBudget").await;
    let sentence = "the budget of 1 restarts in 40s is spent, the next is at ";
    assert!(message.contains(sentence), "{message}");
    let first = witness.sees("fake-0", What::Ending, start).await;
    let second = witness.sees("fake-1", What::Ending, start).await;
    let apart = first.duration_since(second).abs();
    assert!(apart >= SignedDuration::from_secs(39), "{apart}");
    assert_eq!(witness.restarts_since(start).len(), 2);
}

/// So many of the fake apps may be disrupted at once.
async fn allow(namespace: &Namespace, pods: i32) {
    apply(namespace, pods, "IfHealthyBudget").await;
}

async fn apply(namespace: &Namespace, pods: i32, unhealthy: &str) {
    let selector = json!({"matchLabels": {"app": "fake"}});
    let spec = json!({"maxUnavailable": pods, "selector": selector, "unhealthyPodEvictionPolicy": unhealthy});
    namespace.apply::<PodDisruptionBudget>(json!({"metadata": {"name": "fake"}, "spec": spec})).await;
}
