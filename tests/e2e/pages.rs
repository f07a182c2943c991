//! What a controller answers about itself.

use serde_json::Value;

use crate::support::{Cluster, Fleet, Namespace, RULES, kubectl, leader};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_leader_answers_with_the_documented_names() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "pages").await;
    namespace.policy("fake", &["mode: Enforce", RULES]).await;
    namespace.launch(&Fleet::stateful_set(1)).await;
    let pod = leader(&cluster.client).await.pod;

    assert_eq!(page(&pod, "healthz").await, "ok\n");
    assert_eq!(page(&pod, "readyz").await, "ok\n");

    let metrics = page(&pod, "metrics").await;
    let ours = format!(r#"namespace="{}",policy="fake""#, namespace.name);
    let has = |name: &str, more: &str| {
        let line = format!("probe_policy_{name}{{{ours}{more}");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    };
    has("attempts_total", r#",rule="readiness",outcome="passed"}"#);
    has("attempt_duration_seconds_count", r#",rule="liveness"}"#);
    has("in_pool", "} 1");
    has("suspect", "} 0");
    has("loops", "} 0");
    has("replica_state", r#",pod="fake-0",state="healthy"} 1"#);
    has("gate_publish_delay_seconds_count", "} ");
    has("gate_effect_delay_seconds_count", "} ");
    has("gate_slice_delay_seconds_count", "} ");
    assert!(metrics.ends_with("# EOF\n"));

    let state: Value = serde_json::from_str(&page(&pod, "state").await).unwrap();
    assert_eq!(state["leader"], true);
    let policy = state["policies"].as_array().unwrap().iter().find(|policy| policy["namespace"] == namespace.name);
    assert_eq!(policy.unwrap()["replicas"][0]["pod"], "fake-0");
}

async fn page(pod: &str, path: &str) -> String {
    kubectl(&["get", "--raw", &format!("/api/v1/namespaces/probe-policy/pods/{pod}:8080/proxy/{path}")]).await
}
