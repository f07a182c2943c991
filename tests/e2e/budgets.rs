//! Disruption budgets.

use k8s_openapi::api::policy::v1::PodDisruptionBudget;
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
    assert_eq!(message, sentence);
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

/// So many of the fake apps may be disrupted at once.
async fn allow(namespace: &Namespace, pods: i32) {
    let spec = json!({"maxUnavailable": pods, "selector": {"matchLabels": {"app": "fake"}}});
    namespace.apply::<PodDisruptionBudget>(json!({"metadata": {"name": "fake"}, "spec": spec})).await;
}
