//! One plain watch per kind. Shared reflector streams do not deliver deletions, and show half a list.

use std::fmt::Debug;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, ReplicationController, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::DeserializeGuard;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::records::{LeaseRecord, NodeRecord, OwnerRecord, PodRecord, PolicyRecord, ServiceRecord, SliceRecord};
use crate::api::{HEARTBEAT, ProbePolicy};

/// Where policies and pods are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In every namespace.
    Cluster,
    /// In this one. Nodes cannot be read then, and count as Ready.
    Namespace(String),
}

/// Whether Services and EndpointSlices are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SliceWatch {
    /// They are.
    #[default]
    On,
    /// They are not: the account need not have the right. Then no pool is told by slices.
    Off,
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WatchKind {
    /// `ProbePolicy` objects.
    Policies,
    /// Pods.
    Pods,
    /// Leases that are renewed as a heartbeat.
    Leases,
    /// Services.
    Services,
    /// EndpointSlices.
    EndpointSlices,
    /// Nodes.
    Nodes,
    /// ReplicaSets.
    ReplicaSets,
    /// StatefulSets.
    StatefulSets,
    /// DaemonSets.
    DaemonSets,
    /// ReplicationControllers.
    ReplicationControllers,
}

/// What a watch delivered.
#[derive(Debug)]
pub enum WatchEvent {
    /// Of policies.
    Policies(Change<PolicyRecord>),
    /// Of pods.
    Pods(Change<PodRecord>),
    /// Of Leases.
    Leases(Change<LeaseRecord>),
    /// Of Services.
    Services(Change<ServiceRecord>),
    /// Of EndpointSlices.
    EndpointSlices(Change<SliceRecord>),
    /// Of nodes.
    Nodes(Change<NodeRecord>),
    /// Of owners: from the watch of that kind.
    Owners(WatchKind, Change<OwnerRecord>),
}

/// One change, as watches deliver them.
#[derive(Clone, Debug)]
pub enum Change<R> {
    /// A list begins: the first one, or a new one after the watch broke.
    ListBegan,
    /// An object of the list.
    Listed(R),
    /// The list is complete.
    ListEnded,
    /// An object appeared or changed.
    Applied(R),
    /// An object is gone; this is how it was last.
    Deleted(R),
    /// The watch failed and is tried again, with backoff.
    Failed(String),
}

/// A list is read in pages of so many objects: whole pods are large, and a page is held at once.
const PAGE: u32 = 50;

/// After so many seconds the server ends a watch and we begin the next one; a connection that was cut without a word
/// is noticed 5 s after that.
const WATCH_SECONDS: u32 = 30;

/// Watches everything of the scope and sends what is delivered, until it is told to stop or nobody receives any more.
/// Broken watches are begun again with backoff.
pub async fn watch(
    client: Client,
    scope: Scope,
    slices: SliceWatch,
    events: mpsc::Sender<WatchEvent>,
    stop: CancellationToken,
) {
    let out = Out { events, stop };
    let slices = async {
        match slices {
            SliceWatch::On => {
                let services = scope.api::<Service>(&client);
                let slices = scope.api::<EndpointSlice>(&client);
                tokio::join!(
                    out.run(WatchKind::Services, services, ServiceRecord::from, WatchEvent::Services),
                    out.run(WatchKind::EndpointSlices, slices, SliceRecord::from, WatchEvent::EndpointSlices),
                );
            }
            SliceWatch::Off => {}
        }
    };
    let nodes = async {
        if scope == Scope::Cluster {
            out.run(WatchKind::Nodes, Api::<Node>::all(client.clone()), NodeRecord::from, WatchEvent::Nodes).await;
        }
    };
    tokio::join!(
        out.run(
            WatchKind::Policies,
            scope.api::<DeserializeGuard<ProbePolicy>>(&client),
            PolicyRecord::from,
            WatchEvent::Policies
        ),
        out.run(WatchKind::Pods, scope.api::<Pod>(&client), PodRecord::from, WatchEvent::Pods),
        out.run(WatchKind::Leases, scope.api::<Lease>(&client), LeaseRecord::from, WatchEvent::Leases),
        slices,
        nodes,
        out.owners::<ReplicaSet>(WatchKind::ReplicaSets, &scope, &client),
        out.owners::<StatefulSet>(WatchKind::StatefulSets, &scope, &client),
        out.owners::<DaemonSet>(WatchKind::DaemonSets, &scope, &client),
        out.owners::<ReplicationController>(WatchKind::ReplicationControllers, &scope, &client),
    );
}

impl Scope {
    /// What is watched in this scope.
    pub fn watched(&self) -> Vec<WatchKind> {
        let mut kinds = WatchKind::ALL.to_vec();
        if *self != Self::Cluster {
            kinds.retain(|&kind| kind != WatchKind::Nodes);
        }
        kinds
    }

    /// The objects of a kind within the scope.
    pub(crate) fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::Cluster => Api::all(client.clone()),
            Self::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
        }
    }
}

impl WatchKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Policies,
        Self::Pods,
        Self::Leases,
        Self::Services,
        Self::EndpointSlices,
        Self::Nodes,
        Self::ReplicaSets,
        Self::StatefulSets,
        Self::DaemonSets,
        Self::ReplicationControllers,
    ];

    /// The kind's plural, as in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policies => "probepolicies",
            Self::Pods => "pods",
            Self::Leases => "leases",
            Self::Services => "services",
            Self::EndpointSlices => "endpointslices",
            Self::Nodes => "nodes",
            Self::ReplicaSets => "replicasets",
            Self::StatefulSets => "statefulsets",
            Self::DaemonSets => "daemonsets",
            Self::ReplicationControllers => "replicationcontrollers",
        }
    }
}

impl WatchKind {
    /// The label that the objects have which matter; `None`: all do.
    const fn label(self) -> Option<&'static str> {
        match self {
            Self::Leases => Some(HEARTBEAT),
            Self::Policies
            | Self::Pods
            | Self::Services
            | Self::EndpointSlices
            | Self::Nodes
            | Self::ReplicaSets
            | Self::StatefulSets
            | Self::DaemonSets
            | Self::ReplicationControllers => None,
        }
    }
}

struct Out {
    events: mpsc::Sender<WatchEvent>,
    stop: CancellationToken,
}

impl Out {
    async fn owners<K>(&self, kind: WatchKind, scope: &Scope, client: &Client)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Debug + Send + 'static,
        OwnerRecord: From<K>,
    {
        self.run(kind, scope.api::<K>(client), OwnerRecord::from, |change| WatchEvent::Owners(kind, change)).await;
    }

    async fn run<K, R>(
        &self,
        kind: WatchKind,
        api: Api<K>,
        record: impl Fn(K) -> R,
        event: impl Fn(Change<R>) -> WatchEvent,
    ) where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let mut config = watcher::Config::default().page_size(PAGE).timeout(WATCH_SECONDS);
        config.label_selector = kind.label().map(str::to_owned);
        let mut changes = std::pin::pin!(watcher(api, config).default_backoff());
        let forward = async {
            while let Some(delivered) = changes.next().await {
                let change = match delivered {
                    Ok(delivered) => Change::of(delivered, &record),
                    Err(error) => {
                        tracing::warn!(watch = kind.name(), %error, "a watch failed and is tried again");
                        Change::Failed(error.to_string())
                    }
                };
                if self.events.send(event(change)).await.is_err() {
                    return;
                }
            }
        };
        self.stop.run_until_cancelled(forward).await;
    }
}

impl<R> Change<R> {
    fn of<K>(event: watcher::Event<K>, record: impl Fn(K) -> R) -> Self {
        match event {
            watcher::Event::Init => Self::ListBegan,
            watcher::Event::InitApply(object) => Self::Listed(record(object)),
            watcher::Event::InitDone => Self::ListEnded,
            watcher::Event::Apply(object) => Self::Applied(record(object)),
            watcher::Event::Delete(object) => Self::Deleted(record(object)),
        }
    }
}
