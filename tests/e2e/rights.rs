//! What the controller's account may do to a pod.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, What, Witness, as_controller};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_controllers_account_may_set_its_own_condition_and_forge_nothing() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "rights").await;
    let before = Timestamp::now();
    namespace.deploy(&Fleet::stateful_set(1), before).await;
    let witness = Witness::new(&namespace).await;
    let app = What::ContainerStarted("app".to_owned());
    witness.sees("fake-0", app, Timestamp::MIN).await;

    let pods: Api<Pod> = Api::namespaced(as_controller().await, &namespace.name);
    let patch = async |patch| pods.patch_status("fake-0", &PatchParams::default(), &Patch::Strategic(patch)).await;
    let forged = [
        (json!({"metadata": {"labels": {"app": "mine"}}}), "labels, finalizers or owners"),
        (json!({"metadata": {"finalizers": ["example.com/forever"]}}), "labels, finalizers or owners"),
        (json!({"metadata": {"annotations": {"example.com/a": "b"}}}), "only annotations under probepolicy.dev/"),
        (json!({"status": {"podIP": "10.0.0.1", "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.1"}]}}), "addresses"),
        (json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}), "only pod conditions under"),
        (json!({"status": {"phase": "Failed"}}), "phase"),
    ];
    for (change, why) in forged {
        let refused = patch(change.clone()).await.expect_err(&change.to_string()).to_string();
        assert!(refused.contains(why), "{change}: {refused}");
    }
    let ours = json!({
        "metadata": {"annotations": {"probepolicy.dev/verdict": r#"{"started": false, "generation": 0}"#}},
        "status": {"conditions": [{"type": "probepolicy.dev/ready", "status": "True"}]},
    });
    patch(ours).await.unwrap();
    witness.sees("fake-0", What::BecameReady, before).await;
}
