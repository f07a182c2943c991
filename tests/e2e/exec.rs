//! Commands in containers, which the controller may run only where it was given the right.

use k8s_openapi::jiff::Timestamp;
use probe_policy::api::conditions::PROBER_ERRORS;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, What, Witness, condition, eventually, kubectl, let_pass};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_command_decides_once_the_controller_may_run_it() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "exec").await;
    let ready = "readiness: {exec: {command: [/fake-app, no-such-command]}, period: 1s, timeout: 5s}";
    namespace.policy("fake", &["mode: Enforce", ready]).await;
    let witness = Witness::new(&namespace).await;
    let start = Timestamp::now();
    namespace.deploy(&Fleet::stateful_set(1), start).await;

    namespace.condition("fake", PROBER_ERRORS, "AttemptsFailOnOurSide").await;
    kubectl(&["apply", "-n", &namespace.name, "-f", "deploy/exec/rbac.yaml"]).await;
    eventually("attempts that count", async || {
        let status = namespace.status("fake").await;
        let counts = condition(&status, PROBER_ERRORS).is_some_and(|found| found.status == "False");
        if counts { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    let_pass(3).await;
    let opened = witness.since(start).into_iter().filter(|it| it.what == What::GateOpened);
    assert_eq!(opened.collect::<Vec<_>>(), []);

    namespace.edit_policy("fake", json!({"readiness": {"exec": {"command": ["/fake-app", "--version"]}}})).await;
    witness.enters_pool("fake-0", start).await;
}
