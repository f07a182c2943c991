//! One test's own namespace on a real cluster. A test that fails leaves it behind, to be looked at.

use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::elect::Permit;
use crate::api::crd;
use crate::cluster::Clients;
use crate::cluster::records::PodRecord;
use crate::engine::{ContainerState, Span};
use crate::runtime::Clock;

/// How long a test waits for an answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// The namespace.
pub(super) struct Playground {
    pub(super) clients: Clients,
    pub(super) namespace: String,
}

impl Playground {
    pub(super) async fn open(test: &str) -> Self {
        let clients = Clients::infer().await.unwrap();
        let namespace = json!({"metadata": {"generateName": format!("controller-{test}-")}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let namespaces: Api<Namespace> = Api::all(clients.actor.clone());
        let made = namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        Self { clients, namespace: made.metadata.name.unwrap() }
    }

    pub(super) async fn close(self) {
        let namespaces: Api<Namespace> = Api::all(self.clients.actor);
        namespaces.delete(&self.namespace, &DeleteParams::background()).await.unwrap();
    }

    /// Serves ProbePolicy objects, and leaves the definition there: others may use it.
    pub(super) async fn install_crd(&self) {
        let crds: Api<CustomResourceDefinition> = Api::all(self.clients.actor.clone());
        let (crd, patching) = (crd(), PatchParams::apply("controller-tests").force());
        let name = crd.metadata.name.clone().unwrap();
        crds.patch(&name, &patching, &Patch::Apply(crd)).await.unwrap();
        let served = await_condition(crds, &name, is_crd_established());
        tokio::time::timeout(TIMEOUT, served).await.expect("it should be served by now").unwrap();
    }

    /// A permit that outlasts every test.
    pub(super) fn permit(&self) -> Permit {
        let clock = Clock::start();
        Permit::for_test(clock, clock.now() + Span::from_secs(3600))
    }

    /// A pod that runs, with our gate and no policy.
    pub(super) async fn gated_pod(&self, name: &str) -> PodRecord {
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {
                "readinessGates": [{"conditionType": "probepolicy.dev/ready"}],
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "app", "image": "localhost/pause:cluster", "imagePullPolicy": "Never"}],
            },
        });
        self.create::<Pod>(pod).await;
        let runs =
            |pod: &PodRecord| pod.containers.iter().any(|app| matches!(app.state, ContainerState::Running { .. }));
        self.wait_for(name, runs).await
    }

    /// A disruption budget that allows nothing.
    pub(super) async fn budget_of_all_pods(&self) {
        let budget = json!({
            "metadata": {"name": "all"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
        });
        self.create::<PodDisruptionBudget>(budget).await;
    }

    pub(super) async fn pod(&self, name: &str) -> PodRecord {
        self.pods().get(name).await.unwrap().into()
    }

    pub(super) async fn wait_for(&self, name: &str, so: impl Fn(&PodRecord) -> bool) -> PodRecord {
        let is_so = |pod: Option<&Pod>| pod.is_some_and(|pod| so(&pod.clone().into()));
        let waiting = await_condition(self.pods(), name, is_so);
        let pod = tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it should be so by now");
        pod.unwrap().unwrap().into()
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.clients.reader.clone(), &self.namespace)
    }

    async fn create<K>(&self, object: Value)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(object).unwrap();
        let api: Api<K> = Api::namespaced(self.clients.actor.clone(), &self.namespace);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}
