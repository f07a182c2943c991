//! A namespace of its own for every test.

use std::fmt::Debug;
use std::process::Command;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use probe_policy::api::{ProbePolicy, ProbePolicyStatus};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::controllers::NAMESPACE as CONTROLLERS;
use super::{Cluster, eventually};

/// The three rules, each asked every second.
pub const RULES: &str = "
startup:   {httpGet: {port: http, path: /started}, period: 1s, timeout: 1s, failureThreshold: 60}
liveness:  {httpGet: {port: http, path: /live},    period: 1s, timeout: 1s, failureThreshold: 3}
readiness: {httpGet: {port: http, path: /ready},   period: 1s, failureThreshold: 1}
pool: {minReady: 0}
fleet: {breaker: {openAt: Never}, sharedFailure: Ignore}
";

/// Restarts that nothing holds back.
pub const UNGUARDED: &str = "
restart: {maxConcurrent: 100%, backoff: {initial: 0s}, giveUpAfter: 0, gracePeriod: 1s}
";

/// The same for a pool that is told by slices of the Service `fake`.
pub fn rules_by_slices() -> String {
    RULES.replace("pool: {minReady: 0}", "pool: {minReady: 0, through: EndpointSlice, service: fake}")
}

/// A namespace that goes with everything in it when the test ends, however it ends.
pub struct Namespace {
    pub name: String,
    pub client: Client,
}

impl Namespace {
    /// A new one, under restricted pod security.
    pub async fn new(cluster: &Cluster, theme: &str) -> Self {
        let name = format!("e2e-{theme}-{:x}", Timestamp::now().as_microsecond());
        let client = cluster.client.clone();
        let manifest = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
        });
        Api::<core::Namespace>::all(client.clone()).create(&Default::default(), &from(manifest)).await.unwrap();
        let namespace = Self { name, client };
        let accounts = namespace.api::<core::ServiceAccount>();
        eventually("a default service account", async || {
            accounts.get("default").await.map_err(|error| error.to_string())
        })
        .await;
        namespace
    }

    /// One that a manifest has brought.
    pub fn applied(cluster: &Cluster, name: &str) -> Self {
        Self { name: name.to_owned(), client: cluster.client.clone() }
    }

    /// Its objects of one kind.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Makes an object what the manifest says; kind and version are known from the type.
    pub async fn apply<K>(&self, mut manifest: Value)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        manifest["apiVersion"] = K::api_version(&()).into();
        manifest["kind"] = K::kind(&()).into();
        let name = manifest["metadata"]["name"].as_str().expect("a manifest has a name").to_owned();
        let api = self.api::<K>();
        api.patch(&name, &PatchParams::apply("e2e").force(), &Patch::Apply(&manifest)).await.unwrap();
    }

    /// Makes a policy over the fake apps what the parts of its spec say.
    pub async fn policy(&self, name: &str, spec: &[&str]) {
        let mut spec: Value = serde_yaml::from_str(&spec.join("\n")).unwrap();
        if spec.get("selector").is_none() {
            spec["selector"] = json!({"matchLabels": {"app": "fake"}});
        }
        self.apply::<ProbePolicy>(json!({"metadata": {"name": name}, "spec": spec})).await;
    }

    /// Edits a policy's spec by a merge patch, and gives the new generation.
    pub async fn edit_policy(&self, name: &str, spec: Value) -> i64 {
        let patch = Patch::Merge(json!({"spec": spec}));
        let edited = self.api::<ProbePolicy>().patch(name, &PatchParams::default(), &patch).await.unwrap();
        edited.metadata.generation.unwrap()
    }

    /// What a policy's status says.
    pub async fn status(&self, name: &str) -> ProbePolicyStatus {
        self.api::<ProbePolicy>().get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Makes the StatefulSet so large.
    pub async fn scale(&self, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.api::<StatefulSet>().patch("fake", &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits until a condition of a policy holds for this reason, and gives its sentence.
    pub async fn condition(&self, policy: &str, type_: &str, reason: &str) -> String {
        eventually(&format!("{type_} of {policy} for reason {reason}"), async || {
            let status = self.status(policy).await;
            let held = condition(&status, type_).filter(|found| found.status == "True" && found.reason == reason);
            held.map(|found| found.message.clone()).ok_or_else(|| format!("{:?}", status.conditions))
        })
        .await
    }

    /// The pods of the fake apps, by name.
    pub async fn pods(&self) -> Vec<core::Pod> {
        let mut pods = self.api::<core::Pod>().list(&ListParams::default().labels("app=fake")).await.unwrap().items;
        pods.sort_by_key(|pod| pod.name_any());
        pods
    }

    /// Waits until there are so many fake apps and all are Ready.
    pub async fn all_ready(&self, pods: usize) {
        eventually(&format!("{pods} Ready pods"), async || self.are_ready(pods).await).await;
    }

    /// Whether there are so many fake apps and all are Ready.
    pub async fn are_ready(&self, wanted: usize) -> Result<(), String> {
        let pods = self.pods().await;
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        if ready == wanted && pods.len() == wanted { Ok(()) } else { Err(format!("{ready} of {} are", pods.len())) }
    }

    /// Deletes an object and, in the background, what it owns.
    pub async fn delete<K>(&self, name: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned + Clone + Debug,
    {
        self.api::<K>().delete(name, &DeleteParams::background()).await.unwrap();
    }
}

/// What a status says under a condition type.
pub fn condition<'a>(status: &'a ProbePolicyStatus, type_: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.type_ == type_)
}

fn is_ready(pod: &core::Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn from<T: DeserializeOwned>(manifest: Value) -> T {
    serde_json::from_value(manifest).unwrap()
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let name = &self.name;
        if std::thread::panicking() {
            show(&["-n", name, "get", "pods,statefulsets,deployments,daemonsets,poddisruptionbudgets", "-o", "wide"]);
            show(&["-n", name, "get", "probepolicies", "-o", "yaml"]);
            show(&["-n", name, "get", "events", "--sort-by=.metadata.creationTimestamp"]);
            show(&["-n", CONTROLLERS, "logs", "-l", "app=probe-policy", "--prefix", "--tail=60"]);
        }
        let _ = Command::new("kubectl").args(["delete", "namespace", name, "--wait=false"]).output();
    }
}

fn show(args: &[&str]) {
    let said = Command::new("kubectl").args(args).output().map(|output| output.stdout).unwrap_or_default();
    eprintln!("$ kubectl {}\n{}", args.join(" "), String::from_utf8_lossy(&said));
}
