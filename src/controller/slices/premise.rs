//! Whether the slices of a pool are ours to write, and for whom.

use std::fmt;

use crate::cluster::records::{EndpointsBy, ObjectName, ServiceRecord, SliceBody};
use crate::cluster::{Index, PoolName};
use crate::engine::PolicyKey;

/// What a pool's slices rest on. As long as it is the same, they follow their pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Premise {
    pub(super) keeper: Keeper,
    pub(super) service: Result<ServiceRecord, Unusable>,
}

/// Who keeps a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    /// A policy: its pods are in the slices.
    Policy(PolicyKey),
    /// None any more, or none of this Service: who is in stays, as it stands.
    Nobody,
    /// None for so long that whoever is in is let in.
    Released,
}

/// Why no slices of a Service are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Services and slices are not watched.
    NotWatched,
    /// There is no such Service.
    NoService(ObjectName),
    /// The cluster's own controller says what its endpoints are.
    Selector(ObjectName),
    /// It has no endpoints.
    ExternalName(ObjectName),
    /// Somebody else manages a slice of it, and we none yet.
    OthersSlice(ObjectName),
}

/// The Service of a pool, if its slices are ours to write. Once begun, they go on beside those of others.
pub fn usable<'a>(index: &'a Index, pool: &PoolName) -> Result<&'a ServiceRecord, Unusable> {
    let name = pool.service();
    if !index.watches_slices() {
        return Err(Unusable::NotWatched);
    }
    let Some(service) = index.service(&name) else { return Err(Unusable::NoService(name)) };
    match service.endpoints {
        EndpointsBy::Selector => return Err(Unusable::Selector(name)),
        EndpointsBy::ExternalName => return Err(Unusable::ExternalName(name)),
        EndpointsBy::Anybody => {}
    }
    match others_slice(index, pool) {
        Some(other) if !has_begun(index, pool) => Err(Unusable::OthersSlice(other.clone())),
        Some(_) | None => Ok(service),
    }
}

/// A slice of the pool's Service that somebody else manages.
pub fn others_slice<'a>(index: &'a Index, pool: &PoolName) -> Option<&'a ObjectName> {
    let slices = index.slices_in(&pool.policy.namespace).filter(|slice| slice.service == pool.service);
    slices.filter(|slice| matches!(slice.body, SliceBody::Others(_))).map(|slice| &slice.name).next()
}

fn has_begun(index: &Index, pool: &PoolName) -> bool {
    index.slices_in(&pool.policy.namespace).any(|slice| pool.has(slice))
}

impl Unusable {
    /// The word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NotWatched => "NotWatched",
            Self::NoService(_) => "NoService",
            Self::Selector(_) => "HasSelector",
            Self::ExternalName(_) => "ExternalName",
            Self::OthersSlice(_) => "OthersSlice",
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWatched => f.write_str("the controller was started with --slices off"),
            Self::NoService(service) => write!(f, "there is no Service {}", service.name),
            Self::Selector(service) => write!(
                f,
                "the Service {} has a selector, so the cluster itself says what its endpoints are: use one without, or \
                 through: ReadinessGate",
                service.name
            ),
            Self::ExternalName(service) => {
                write!(f, "the Service {} is of type ExternalName and has no endpoints", service.name)
            }
            Self::OthersSlice(slice) => {
                write!(
                    f,
                    "somebody else manages the slice {} of the Service: delete it, or use another Service",
                    slice.name
                )
            }
        }
    }
}
