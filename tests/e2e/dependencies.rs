//! What all replicas need and are not to blame for.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use probe_policy::api::conditions::DEPENDENCY_DOWN;
use serde_json::{Value, json};

use crate::support::{
    Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, condition, container, eventually, pod, seconds,
};

/// The part of the script that the store plays.
const STORE: u32 = 6;

#[tokio::test]
#[ignore = "needs a cluster"]
async fn while_a_dependency_fails_nobody_is_ejected_and_a_fault_of_ones_own_still_ejects() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "dependency").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let listed = json!({
        "name": "store",
        "selector": {"matchLabels": {"app": "store"}},
        "httpGet": {"port": "http", "path": "/ready"},
        "period": "2s",
        "timeout": "1s",
    });
    namespace.edit_policy("fake", json!({"fleet": {"dependencies": [listed]}})).await;
    let message = stands(&namespace, "NoTarget").await;
    assert!(message.starts_with("the selector of store selects no pod"), "{message}");

    let lost =
        |replica: u32, at: u32, turns: u32| json!({"replica": replica, "at": at, "dependencyLost": {"for": turns}});
    let faults = json!([lost(STORE, 40, 25), lost(0, 40, 20), lost(1, 40, 20), lost(2, 40, 20), lost(1, 90, 3000)]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(3).faults(faults)).await;
    namespace.apply::<Pod>(store(start)).await;
    stands(&namespace, "Up").await;

    let message = namespace.condition("fake", DEPENDENCY_DOWN, "Down").await;
    assert!(message.starts_with("store is down since ") && message.contains("held for it: fake-"), "{message}");
    stands(&namespace, "Up").await;

    let ejected = witness.sees("fake-1", What::GateClosed, start).await;
    assert!(ejected > start + seconds(89), "ejected at {ejected}, {} after the start", ejected - start);
    let moved = witness.since(start).into_iter().filter(|it| it.pod.starts_with("fake-") && it.at < ejected);
    assert_eq!(moved.collect::<Vec<_>>(), []);
    assert_eq!(witness.restarts_since(start), []);
}

/// Waits until the condition stands so for this reason, whether it holds or not, and gives its sentence.
async fn stands(namespace: &Namespace, reason: &str) -> String {
    eventually(&format!("{DEPENDENCY_DOWN} for reason {reason}"), async || {
        let status = namespace.status("fake").await;
        let found = condition(&status, DEPENDENCY_DOWN).filter(|found| found.reason == reason);
        found.map(|found| found.message.clone()).ok_or_else(|| format!("{:?}", status.conditions))
    })
    .await
}

/// A pod that plays its part of the fleet's script, and belongs to nobody.
fn store(start: Timestamp) -> Value {
    let args = ["serve", "--script=/script/scenario.yaml", "--listen=0.0.0.0:8080"].map(str::to_owned).to_vec();
    let args = args.into_iter().chain([format!("--start={start}"), format!("--replica={STORE}")]).collect();
    let mut app = container("app", args);
    app["ports"] = json!([{"name": "http", "containerPort": 8080}]);
    let mut spec = pod(vec![app]);
    spec["volumes"] = json!([{"name": "script", "configMap": {"name": "fake"}}]);
    json!({"metadata": {"name": "store", "labels": {"app": "store"}}, "spec": spec})
}
