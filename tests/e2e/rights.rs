//! What the controller's account may do to a pod.

use crate::support::{Cluster, Fleet, Namespace, What, Witness, kubectl_with, seconds};
use k8s_openapi::jiff::Timestamp;

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_controllers_account_may_set_its_own_condition_and_forge_nothing() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "rights").await;
    let before = Timestamp::now();
    namespace.deploy(&Fleet::stateful_set(1), before).await;
    let witness = Witness::new(&namespace).await;
    let app = What::ContainerStarted("app".to_owned());
    witness.sees("fake-0", app, Timestamp::MIN, seconds(30)).await;

    let forged = [
        (r#"{"metadata": {"labels": {"app": "mine"}}}"#, "labels, finalizers or owners"),
        (r#"{"metadata": {"finalizers": ["example.com/forever"]}}"#, "labels, finalizers or owners"),
        (r#"{"metadata": {"annotations": {"example.com/a": "b"}}}"#, "only annotations under probepolicy.dev/"),
        (r#"{"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}"#, "addresses"),
        (r#"{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}"#, "only pod conditions under"),
        (r#"{"status": {"phase": "Failed"}}"#, "phase"),
    ];
    for (patch, why) in forged {
        let answer = as_controller(&namespace, patch).await;
        assert!(answer.is_err_and(|stderr| stderr.contains(why)), "{patch}");
    }
    let ours = r#"{
        "metadata": {"annotations": {"probepolicy.dev/verdict": "{\"started\": false, \"generation\": 0}"}},
        "status": {"conditions": [{"type": "probepolicy.dev/ready", "status": "True"}]}
    }"#;
    as_controller(&namespace, ours).await.unwrap();
    witness.sees("fake-0", What::BecameReady, before, seconds(10)).await;
}

/// Patches the pod's status with the account's rights, or says why that was refused.
async fn as_controller(namespace: &Namespace, patch: &str) -> Result<(), String> {
    let account = "--as=system:serviceaccount:probe-policy:controller";
    let pod = ["-n", &namespace.name, "patch", "pod", "fake-0", "--subresource=status", "--type=strategic"];
    let answer = kubectl_with(&[&pod[..], &[account, "-p", patch]].concat(), "").await;
    if answer.succeeded { Ok(()) } else { Err(answer.stderr) }
}
