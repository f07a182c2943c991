//! The end.

use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::process::Command;

use crate::support::{
    Cluster, Fleet, Namespace, RULES, UNGUARDED, What, Witness, kubectl, let_pass, rules_by_slices, scale,
};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn uninstalling_in_the_documented_order_ends_and_leaves_every_pod_ready() {
    let cluster = Cluster::alone().await;
    let namespace = Namespace::new(&cluster, "uninstall").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    let lost = || json!([{"replica": 1, "at": 1, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(lost())).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    let by_slices = Namespace::new(&cluster, "uninstall-slices").await;
    by_slices.policy("fake", &["mode: Enforce", &rules_by_slices(), UNGUARDED]).await;
    let told_by_slices = Witness::new(&by_slices).await;
    let start_by_slices = by_slices.launch(&Fleet::stateful_set(2).ungated().unselected().faults(lost())).await;
    let left = told_by_slices.sees("fake-1", What::LeftSlice, start_by_slices).await;

    scale(&cluster.client, 0).await;
    let release = Command::new(env!("CARGO_BIN_EXE_probe-policy")).args(["release", "--all"]).output().await.unwrap();
    assert!(release.status.success(), "{release:?}");
    witness.enters_pool("fake-1", ejected).await;
    told_by_slices.sees("fake-1", What::EnteredSlice, left).await;
    let released = Timestamp::now();
    kubectl(&["delete", "-f", "deploy/", "--timeout=60s"]).await;
    let_pass(3).await;

    assert_eq!(namespace.are_ready(2).await, Ok(()));
    assert_eq!((witness.since(released), told_by_slices.since(released)), (vec![], vec![]));
    assert_eq!(witness.restarts_since(start), []);

    drop(cluster);
    Cluster::shared().await; // installs it again for whoever comes next
}
