//! What replicas share that were made from one template.

use k8s_openapi::jiff::Timestamp;
use probe_policy::api::conditions::SHARED_FAILURE;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, let_pass};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn new_pods_that_do_not_start_are_hardly_restarted_and_the_old_ones_stay_in() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "rollout").await;
    let rules = RULES.replace("failureThreshold: 60", "failureThreshold: 3").replace("breaker: {openAt: Never}, ", "");
    namespace.policy("fake", &["mode: Enforce", &rules, UNGUARDED]).await;
    let surge = json!({"strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}});
    let silent = json!([{"replica": 1, "at": 0, "silent": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let fleet = Fleet::deployment(3).workload(surge).faults(silent);
    let start = namespace.launch(&fleet).await;

    let rolled_out = Timestamp::now();
    namespace.deploy(&fleet.part(1), start).await;
    let told = namespace.condition("fake", SHARED_FAILURE, "RestartsHeld").await;
    let_pass(10).await;

    assert!(told.contains(" of revision ") && told.contains(" failed to start"), "{told}");
    // The first may be restarted before a second one has failed.
    let restarts = witness.restarts_since(rolled_out);
    assert!(restarts.len() <= 1, "{restarts:#?}");
    let left: Vec<_> = witness.since(rolled_out).into_iter().filter(|it| it.what == What::LeftSlice).collect();
    assert_eq!(left, []);
}
