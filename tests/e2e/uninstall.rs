//! The end.

use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::process::Command;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, Witness, kubectl, let_pass, scale};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn uninstalling_in_the_documented_order_ends_and_leaves_every_pod_ready() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "uninstall").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let faults = json!([{"replica": 1, "at": 1, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(faults)).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    scale(&cluster.client, 0).await;
    let release = Command::new(env!("CARGO_BIN_EXE_probe-policy")).args(["release", "--all"]).output().await.unwrap();
    assert!(release.status.success(), "{release:?}");
    witness.enters_pool("fake-1", ejected).await;
    let released = Timestamp::now();
    kubectl(&["delete", "-f", "deploy/", "--timeout=60s"]).await;
    let_pass(3).await;

    assert_eq!(namespace.are_ready(2).await, Ok(()));
    assert_eq!(witness.since(released), []);
    assert_eq!(witness.restarts_since(start), []);

    drop(cluster);
    Cluster::shared().await; // installs it again for whoever comes next
}
