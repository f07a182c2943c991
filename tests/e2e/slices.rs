//! A pool that is told by slices of our own.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use probe_policy::api::{ProbePolicy, SLICE_MANAGER};
use serde_json::{Value, json};

use crate::support::{
    Absence, Cluster, Fleet, Namespace, UNGUARDED, What, Witness, as_controller, eventually, rules_by_slices, seconds,
};

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_service_without_a_selector_sends_nothing_to_a_pod_that_is_out_and_the_pods_need_no_gate() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "slices").await;
    namespace.policy("fake", &["mode: Enforce", &rules_by_slices(), UNGUARDED]).await;
    let lost = json!([{"replica": 1, "at": 4, "dependencyLost": {"for": 7}}]);
    let fleet = Fleet::stateful_set(2).ungated().unselected().faults(lost);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&fleet).await;

    let load = namespace.load(30).await;
    let out = witness.sees("fake-1", What::LeftSlice, start).await;
    let back = witness.sees("fake-1", What::EnteredSlice, out).await;
    let requests = load.finish().await;

    let absence = Absence { start, fault: start + seconds(4), out, back };
    absence.assert_kept("fake-1", &requests);
    let moved: Vec<_> = witness.since(start).into_iter().filter(|it| it.pod != "fake-1").collect();
    assert_eq!(moved, [], "a flip moves nobody else");

    let status = namespace.status("fake").await;
    assert_eq!((status.ungated_count, status.in_pool), (0, 2));
    let slices = namespace.api::<EndpointSlice>().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(slices.len(), 1, "{slices:?}");
    assert_eq!(slices[0].labels()["endpointslice.kubernetes.io/managed-by"], SLICE_MANAGER);
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_deleted_policy_leaves_its_service_with_every_pod_that_runs() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "slices-left").await;
    namespace.policy("fake", &["mode: Enforce", &rules_by_slices(), UNGUARDED]).await;
    let lost = json!([{"replica": 1, "at": 2, "dependencyLost": {"for": 3000}}]);
    let witness = Witness::new(&namespace).await;
    let start = namespace.launch(&Fleet::stateful_set(2).ungated().unselected().faults(lost)).await;
    let out = witness.sees("fake-1", What::LeftSlice, start).await;

    namespace.delete::<ProbePolicy>("fake").await;
    let deleted = Timestamp::now();
    let back = witness.sees("fake-1", What::EnteredSlice, out).await;
    assert!(back >= deleted + seconds(29), "deleted {deleted}, back {back}");
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn a_service_that_has_a_selector_keeps_the_clusters_own_slices() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "slices-selector").await;
    namespace.launch(&Fleet::stateful_set(1).ungated()).await;
    namespace.policy("fake", &["mode: Enforce", &rules_by_slices(), UNGUARDED]).await;
    namespace.condition("fake", "ServiceUnusable", "HasSelector").await;
    let slices = namespace.api::<EndpointSlice>().list(&ListParams::default()).await.unwrap().items;
    assert!(slices.iter().all(|slice| !is_ours(slice)), "{slices:?}");
}

#[tokio::test]
#[ignore = "needs a cluster"]
async fn the_controllers_account_may_touch_no_slice_but_its_own() {
    let cluster = Cluster::shared().await;
    let namespace = Namespace::new(&cluster, "slice-rights").await;
    let ports = json!([{"name": "http", "port": 80}]);
    namespace.apply::<Service>(json!({"metadata": {"name": "fake"}, "spec": {"ports": ports}})).await;
    namespace.apply::<EndpointSlice>(slice("theirs", "somebody")).await;

    let slices: Api<EndpointSlice> = Api::namespaced(as_controller().await, &namespace.name);
    let refused = |error: kube::Error| assert!(error.to_string().contains("only slices that it manages"), "{error}");
    let create = async |slice| slices.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await;
    let mine = json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": SLICE_MANAGER}}});
    refused(slices.patch("theirs", &PatchParams::default(), &Patch::Merge(mine)).await.unwrap_err());
    refused(slices.delete("theirs", &DeleteParams::default()).await.map(drop).unwrap_err());
    refused(create(slice("mine", "somebody")).await.unwrap_err());
    create(slice("mine", SLICE_MANAGER)).await.unwrap();
    slices.delete("mine", &DeleteParams::default()).await.unwrap();
    eventually("the end of the slice", async || match slices.get_opt("mine").await {
        Ok(None) => Ok(()),
        there => Err(format!("{there:?}")),
    })
    .await;
}

fn slice(name: &str, manager: &str) -> Value {
    let labels = json!({"kubernetes.io/service-name": "fake", "endpointslice.kubernetes.io/managed-by": manager});
    json!({"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": []})
}

fn is_ours(slice: &EndpointSlice) -> bool {
    slice.labels().get("endpointslice.kubernetes.io/managed-by").is_some_and(|manager| manager == SLICE_MANAGER)
}
