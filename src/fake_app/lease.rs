//! The Lease by which a replica says in a cluster that it is there.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;

use super::clock;
use crate::api::HEARTBEAT;

/// A renewal that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// The Lease of the pod that the process runs in.
pub struct PodLease {
    leases: Api<Lease>,
    pod: String,
    uid: String,
}

impl PodLease {
    /// The Lease of the pod of that name and UID in the process's own namespace.
    ///
    /// # Errors
    /// If neither a service account nor a kubeconfig says where the API server is.
    pub async fn new(pod: String, uid: String) -> kube::Result<Self> {
        let client = Client::try_default().await?;
        Ok(Self { leases: Api::default_namespaced(client), pod, uid })
    }

    /// Says that the replica is there. A beat that does not arrive is lost, as beats may be.
    pub async fn renew(&self) {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": self.pod, "uid": self.uid});
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.pod, "labels": {HEARTBEAT: "true"}, "ownerReferences": [owner]},
            "spec": {"holderIdentity": self.pod, "renewTime": MicroTime(clock::now())},
        });
        let write = PatchParams::apply("fake-app").force();
        let _ = timeout(PATIENCE, self.leases.patch(&self.pod, &write, &Patch::Apply(&lease))).await;
    }

    /// Says that the replica goes. If that does not arrive, its last beat runs out by itself.
    pub async fn give_up(&self) {
        let _ = timeout(PATIENCE, self.leases.delete(&self.pod, &DeleteParams::default())).await;
    }
}
