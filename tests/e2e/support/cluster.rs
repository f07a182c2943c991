//! The one cluster of all tests, with `deploy/` applied.

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::controllers::{NAMESPACE, lease_holder};
use super::{eventually, kubectl};

/// Ordinary tests share it. One that disturbs the controllers or the API server has it alone. It is fair, so nobody
/// waits for ever.
static TURN: RwLock<()> = RwLock::const_new(());
static APPLIED: OnceCell<()> = OnceCell::const_new();

/// The cluster, for the duration of a test.
pub struct Cluster {
    pub client: Client,
    _turn: Turn,
}

#[expect(dead_code, reason = "held, not looked at")]
enum Turn {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Cluster {
    /// For a test that leaves controllers and API server alone.
    pub async fn shared() -> Self {
        Self::ready(Turn::Shared(TURN.read().await)).await
    }

    /// For a test that disturbs them.
    pub async fn alone() -> Self {
        Self::ready(Turn::Alone(TURN.write().await)).await
    }

    async fn ready(turn: Turn) -> Self {
        let client = Client::try_default().await.expect("KUBECONFIG leads to a cluster");
        APPLIED.get_or_init(install).await;
        if controllers(&client).await.is_err() {
            install().await; // what a test that failed half-way took away
        }
        eventually("two ready controllers, one of them leading", async || {
            controllers(&client).await?;
            lease_holder(&client).await.map(|_| ()).ok_or_else(|| "nobody leads".to_owned())
        })
        .await;
        Self { client, _turn: turn }
    }
}

async fn install() {
    kubectl(&["apply", "-f", "deploy/"]).await;
}

async fn controllers(client: &Client) -> Result<(), String> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let status = deployments.get("controller").await.map_err(|error| error.to_string())?.status.unwrap_or_default();
    let ready = status.ready_replicas == Some(2) && status.replicas == Some(2);
    if ready { Ok(()) } else { Err(format!("{status:?}")) }
}
