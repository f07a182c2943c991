//! Edits of a policy while pods run.

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

use crate::support::{Cluster, Fleet, Namespace, RULES, Witness, eventually, kubectl_with, let_pass};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn an_edit_of_period_threshold_or_path_takes_effect_on_the_running_pods() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "edit").await;
    let readiness = "readiness: {httpGet: {port: http, path: /ready}, period: 1h, failureThreshold: 1000}";
    namespace.policy("fake", &["mode: Enforce", readiness]).await;
    let lost = json!([{"replica": 1, "at": 0, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).faults(lost)).await;

    // The period: only now is it asked again, and it fails; the threshold is still far.
    let generation = namespace.edit_policy("fake", json!({"readiness": {"period": "1s"}})).await;
    eventually("a suspect under the new period", async || {
        let status = namespace.status("fake").await;
        let seen = status.observed_generation == Some(generation) && status.suspect == 1;
        if seen { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(witness.since(start), []);

    // The threshold: the streak is held against the new one at once.
    namespace.edit_policy("fake", json!({"readiness": {"failureThreshold": 1}})).await;
    let ejected = witness.leaves_pool("fake-1", start).await;

    // The path: the new question is answered well.
    let generation = namespace.edit_policy("fake", json!({"readiness": {"httpGet": {"path": "/live"}}})).await;
    witness.enters_pool("fake-1", ejected).await;
    let_pass(3).await;

    assert_eq!(namespace.status("fake").await.observed_generation, Some(generation));
    assert_eq!(witness.restarts_since(start), [], "no edit is a rollout");
    let moved: Vec<_> = witness.since(start).into_iter().filter(|it| it.pod != "fake-1").collect();
    assert_eq!(moved, []);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn kubectl_apply_refuses_a_bad_policy_with_a_sentence_and_leaves_the_old_one() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "refused").await;
    namespace.policy("fake", &["mode: Observe", RULES]).await;
    let bad = [
        ("failureThreshold: 0", "spec.liveness.failureThreshold"),
        ("period: 0s", "spec.liveness.period"),
        ("periodSeconds: 5", "periodSeconds"),
    ];
    for (field, named) in bad {
        let policy = format!(
            "{{apiVersion: probepolicy.dev/v1alpha1, kind: ProbePolicy, metadata: {{name: fake}}, spec: {{
              selector: {{matchLabels: {{app: fake}}}},
              liveness: {{httpGet: {{port: http, path: /live}}, {field}}}}}}}"
        );
        let answer = kubectl_with(&["apply", "-n", &namespace.name, "-f", "-"], &policy).await;
        assert!(!answer.succeeded && answer.stderr.contains(named), "{field}: {}", answer.stderr);
    }
    let kept = namespace.api::<probe_policy::api::ProbePolicy>().get("fake").await.unwrap();
    assert_eq!((kept.name_any().as_str(), kept.metadata.generation), ("fake", Some(1)));
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn prepare_takes_all_pods_out_until_they_pass_and_rolling_as_many_as_may_restart() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "prove").await;
    let readiness = "readiness: {httpGet: {port: http, path: /ready}, period: 2s, successThreshold: 3}";
    namespace.policy("fake", &["mode: Enforce", readiness, "pool: {onPolicyChange: Prepare}"]).await;
    let witness = Witness::new(&namespace).await;
    namespace.launch(&Fleet::stateful_set(3)).await;

    let edited = Timestamp::now();
    let generation = namespace.edit_policy("fake", json!({"readiness": {"httpGet": {"path": "/live"}}})).await;
    for pod in ["fake-0", "fake-1", "fake-2"] {
        let left = witness.leaves_pool(pod, edited).await;
        witness.enters_pool(pod, left).await;
    }
    eventually("every pod judged under the edit", async || {
        let status = namespace.status("fake").await;
        let applied = status.observed_generation == Some(generation) && (status.applied, status.preparing) == (3, 0);
        if applied { Ok(()) } else { Err(format!("{status:?}")) }
    })
    .await;

    namespace.edit_policy("fake", json!({"pool": {"onPolicyChange": "Rolling", "minReady": 2}})).await;
    namespace.edit_policy("fake", json!({"readiness": {"httpGet": {"path": "/nothing-there"}}})).await;
    let one_is_out = async || {
        let status = namespace.status("fake").await;
        if (status.preparing, status.in_pool) == (1, 2) { Ok(()) } else { Err(format!("{status:?}")) }
    };
    eventually("one pod out of the pool", &one_is_out).await;
    let_pass(10).await;
    assert_eq!(one_is_out().await, Ok(()), "the others keep their place");
}
