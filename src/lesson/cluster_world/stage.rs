//! The namespace of a run.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::wait::delete::delete_and_finalize;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{ClusterError, Experiment, manifests};

/// How long a namespace may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(300);

/// A namespace that somebody has to close.
pub(super) struct Stage<'a> {
    client: &'a Client,
    namespace: String,
}

impl<'a> Stage<'a> {
    /// Creates it.
    pub async fn open(client: &'a Client, experiment: &Experiment) -> Result<Self, ClusterError> {
        let namespaces = Api::<Namespace>::all(client.clone());
        let created = namespaces.create(&PostParams::default(), &manifests::namespace(experiment)).await;
        let namespace = created.map_err(ClusterError::refused("create a namespace"))?.name_any();
        Ok(Self { client, namespace })
    }

    /// Its name.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The pods in it.
    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The slices of the Services in it.
    pub fn slices(&self) -> Api<EndpointSlice> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates an object in it.
    pub async fn put<K>(&self, object: K) -> Result<(), ClusterError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    {
        let objects = Api::<K>::namespaced(self.client.clone(), &self.namespace);
        let created = objects.create(&PostParams::default(), &object).await;
        let what = || format!("create {} {} in {}", K::kind(&()), object.name_any(), self.namespace);
        created.map(|_| ()).map_err(|error| ClusterError::refused(what())(error))
    }

    /// Deletes it, and waits until it is gone, or until nobody wants to wait any more.
    pub async fn close(self, hurry: &CancellationToken) -> Result<(), ClusterError> {
        let namespaces = Api::<Namespace>::all(self.client.clone());
        let how = DeleteParams::default();
        let deleting = timeout(GONE_WITHIN, delete_and_finalize(namespaces, &self.namespace, &how));
        match hurry.run_until_cancelled(deleting).await {
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(_)) | Err(_)) | None => Err(ClusterError::NotGone { namespace: self.namespace }),
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::Config;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn who_does_not_want_to_wait_is_told_what_is_left_and_how_to_remove_it() {
        let api_server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", api_server.local_addr().unwrap());
        let client = Client::try_from(Config::new(address.parse().unwrap())).unwrap();
        let stage = Stage { client: &client, namespace: "lesson-x".to_owned() };
        let hurry = CancellationToken::new();
        let asked = async {
            // Nobody answers.
            let asking = api_server.accept().await;
            hurry.cancel();
            asking
        };
        let (closed, _asking) = tokio::join!(stage.close(&hurry), asked);
        let left = "the namespace lesson-x is not gone: kubectl delete namespace lesson-x";
        assert_eq!(closed.unwrap_err().to_string(), left);
    }
}
