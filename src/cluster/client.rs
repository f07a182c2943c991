//! The clients of the API server: one that reads and may wait, one that acts and must hear every refusal, and one that
//! runs commands, which may take long and must hear it too.

use std::time::Duration;

use kube::{Client, Config};

/// All of them.
#[derive(Clone)]
pub struct Clients {
    /// For lists, watches and what may be tried again: retries overload (429, 503, 504) by itself and sets no limit to
    /// how long an answer takes, since a watch is an answer that takes a minute.
    pub reader: Client,
    /// For effects: every answer comes back at once as it is, also a disruption budget's 429, and none takes longer
    /// than [`Clients::ACT_TIMEOUT`].
    pub actor: Client,
    /// For commands in containers: every refusal at once, and no limit to how long an answer takes.
    pub runner: Client,
    /// The namespace that the configuration names: the pod's own in a cluster.
    pub namespace: String,
}

/// The API server cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Neither a kubeconfig nor a service account.
    #[error("no way to reach a Kubernetes API server: set KUBECONFIG, or run in a pod with a service account: {0}")]
    NoConfig(#[source] Box<kube::config::InferConfigError>),
    /// The configuration makes no sense.
    #[error("the Kubernetes configuration cannot be used: {0}")]
    BadConfig(#[source] Box<kube::Error>),
}

impl Clients {
    /// How long an effect's answer may take before it counts as unknown.
    pub const ACT_TIMEOUT: Duration = Duration::from_secs(10);
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

    /// Clients by the kubeconfig in use or, in a pod, by its service account.
    pub async fn infer() -> Result<Self, ClientError> {
        let config = Config::infer().await.map_err(|error| ClientError::NoConfig(Box::new(error)))?;
        Self::new(config)
    }

    /// Clients by a configuration.
    pub fn new(mut config: Config) -> Result<Self, ClientError> {
        let namespace = config.default_namespace.clone();
        config.connect_timeout = Some(Self::CONNECT_TIMEOUT);
        let reader = Client::try_from(config.clone()).map_err(|error| ClientError::BadConfig(Box::new(error)))?;
        config.default_retry = false;
        let runner = Client::try_from(config.clone()).map_err(|error| ClientError::BadConfig(Box::new(error)))?;
        config.read_timeout = Some(Self::ACT_TIMEOUT);
        let actor = Client::try_from(config).map_err(|error| ClientError::BadConfig(Box::new(error)))?;
        Ok(Self { reader, actor, runner, namespace })
    }
}
