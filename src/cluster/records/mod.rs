//! What the index keeps of an object: slim records of our own, converted as soon as a watch delivers an object, so
//! that no Kubernetes type is ever stored (10,000 whole pods are hundreds of megabytes).

mod lease;
mod node;
mod owner;
mod pod;
mod policy;
mod service;
mod slice;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use lease::LeaseRecord;
pub use node::NodeRecord;
pub use owner::{OwnerRecord, OwnerRef};
pub use pod::{ContainerKind, ContainerRecord, Network, PodRecord};
pub use policy::{PolicyProblem, PolicyRecord};
pub use service::{EndpointsBy, ServicePort, ServiceRecord, TargetPort};
pub use slice::{EndpointRecord, Family, Group, MANAGED_BY, OurSlice, SERVICE_NAME, SliceBody, SlicePort, SliceRecord};

/// Where an object of one kind is found.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Its namespace; empty for an object outside of any.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// The UID of an object: tells it from a later one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub Box<str>);

/// The version of an object that something was read from, or that a write made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceVersion(pub Box<str>);

impl ObjectName {
    /// The name `name` in `namespace`.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    fn of(meta: &ObjectMeta) -> Self {
        Self::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
    }
}

impl Uid {
    fn of(meta: &ObjectMeta) -> Self {
        Self(meta.uid.as_deref().unwrap_or_default().into())
    }
}

impl ResourceVersion {
    fn of(meta: &ObjectMeta) -> Self {
        Self(meta.resource_version.as_deref().unwrap_or_default().into())
    }

    /// Whether this version is known to be older than `other`. Versions that are no numbers cannot be compared.
    pub fn is_before(&self, other: &Self) -> bool {
        match (self.0.parse::<u64>(), other.0.parse::<u64>()) {
            (Ok(this), Ok(other)) => this < other,
            (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
        }
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Those of a namespace, in the order of their names.
pub(super) fn of_namespace<'a, T>(
    objects: &'a BTreeMap<ObjectName, T>,
    namespace: &str,
) -> impl Iterator<Item = &'a T> {
    let from = objects.range(ObjectName::new(namespace, "")..);
    from.take_while(move |(name, _)| &*name.namespace == namespace).map(|(_, object)| object)
}
