//! The two controllers.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, Config, ResourceExt};

use super::{Process, eventually, kubectl};

/// Where they run.
pub const NAMESPACE: &str = "probe-policy";

/// One of them.
pub struct Controller {
    /// Its name in the election.
    pub name: String,
    /// Its pod.
    pub pod: String,
    /// The process, as this machine sees it.
    pub process: Process,
}

/// The one that leads.
pub async fn leader(client: &Client) -> Controller {
    let holder = lease_holder(client).await.expect("somebody leads");
    let pods = pods(client).await;
    let pod = pods.iter().find(|pod| holder.starts_with(&pod.name_any())).expect("the leader's pod");
    let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first()).unwrap();
    let id = status.container_id.as_deref().expect("the leader's container runs");
    Controller { pod: pod.name_any(), process: Process::of_container(id), name: holder }
}

/// Who leads, by the name of its process in the election.
pub async fn lease_holder(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let holder = leases.get_opt("probe-policy").await.ok()??.spec?.holder_identity?;
    Some(holder).filter(|holder| !holder.is_empty())
}

/// Waits until somebody else leads.
pub async fn other_leader(client: &Client, than: &str) {
    eventually("another leader", async || match lease_holder(client).await {
        Some(holder) if holder != than => Ok(()),
        holder => Err(format!("{holder:?}")),
    })
    .await;
}

/// Runs so many of them, and waits until it is so.
pub async fn scale(client: &Client, replicas: i32) {
    kubectl(&["-n", NAMESPACE, "scale", "deployment", "controller", &format!("--replicas={replicas}")]).await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    eventually(&format!("{replicas} controllers"), async || {
        let status = deployments.get("controller").await.unwrap().status.unwrap_or_default();
        let pods = pods(client).await.len();
        let reached = status.ready_replicas.unwrap_or_default() == replicas && pods == replicas as usize;
        if reached { Ok(()) } else { Err(format!("{pods} pods, {status:?}")) }
    })
    .await;
}

/// A client with the rights of their account.
pub async fn as_controller() -> Client {
    let mut config = Config::infer().await.unwrap();
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{NAMESPACE}:controller"));
    Client::try_from(config).unwrap()
}

async fn pods(client: &Client) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    pods.list(&ListParams::default().labels("app=probe-policy")).await.unwrap().items
}
