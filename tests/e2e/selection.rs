//! Which pods a policy keeps, and what it says of the others.

use probe_policy::api::ProbePolicy;
use probe_policy::api::conditions::{CONFLICTED, UNGATED};
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, UNGUARDED, Witness, eventually, let_pass};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn pods_without_the_gate_are_listed_with_what_to_do() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "ungated").await;
    namespace.policy("fake", &["mode: Enforce", RULES, UNGUARDED]).await;
    namespace.launch(&Fleet::stateful_set(2).ungated()).await;

    let message = namespace.condition("fake", UNGATED, "GateMissing").await;
    let status = namespace.status("fake").await;
    assert!(message.contains("probepolicy.dev/ready") && message.contains("spec.readinessGates"), "{message}");
    let listed: Vec<_> = status.ungated.iter().map(|note| note.pod.as_str()).collect();
    assert_eq!((listed, status.ungated_count), (vec!["fake-0", "fake-1"], 2));
    assert!(status.ungated[0].message.contains("readinessGates"), "{:?}", status.ungated);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn of_two_policies_the_older_keeps_the_pods_until_it_is_gone() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "conflict").await;
    let lenient = "readiness: {httpGet: {port: http, path: /live}, period: 1s}";
    namespace.policy("older", &["mode: Enforce", lenient]).await;
    let lost = json!([{"replica": 1, "at": 0, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(lost)).await;

    namespace.policy("newer", &["mode: Enforce", RULES, UNGUARDED]).await;
    let message = namespace.condition("newer", CONFLICTED, "OlderPolicyKeepsPods").await;
    assert!(message.contains("older") && message.contains("fake-0"), "{message}");
    let_pass(4).await;
    assert_eq!(witness.since(start), []);

    namespace.delete::<ProbePolicy>("older").await;
    witness.leaves_pool("fake-1", start).await;
    eventually("the end of the conflict", async || {
        let status = namespace.status("newer").await;
        let over = crate::support::condition(&status, CONFLICTED).is_some_and(|it| it.status == "False");
        if over && status.replicas == 2 { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    let moved: Vec<_> = witness.since(start).into_iter().filter(|it| it.pod != "fake-1").collect();
    assert_eq!(moved, []);
}
