use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};

use super::{ObjectName, ResourceVersion, Uid};
use crate::api::{SLICE_MANAGER, SLICE_OF};
use crate::engine::{Gate, Lifecycle, Readiness};

/// The label of a slice that names its Service.
pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The label of a slice that says who manages it.
pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// An EndpointSlice of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceRecord {
    /// Where it is found.
    pub name: ObjectName,
    /// Which one.
    pub uid: Uid,
    /// The version this was read from.
    pub resource_version: ResourceVersion,
    /// Its Service, of the same namespace; empty if it names none.
    pub service: Box<str>,
    /// What of it is known.
    pub body: SliceBody,
}

/// What is known of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SliceBody {
    /// We manage it: all of it.
    Ours(OurSlice),
    /// Somebody else does: the pods that it calls ready, by name and UID.
    Others(BTreeSet<(Arc<str>, Uid)>),
}

/// A slice that we manage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OurSlice {
    /// The policy whose pool it is part of.
    pub policy: Arc<str>,
    /// The family of its addresses, and its ports.
    pub group: Group,
    /// Its endpoints.
    pub endpoints: Box<[EndpointRecord]>,
}

/// What all endpoints of a slice have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The family of their addresses.
    pub family: Family,
    /// Their ports.
    pub ports: Box<[SlicePort]>,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A port of a slice's endpoints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlicePort {
    /// The name of the Service's port; empty if it has none.
    pub name: Box<str>,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Box<str>,
    /// What is spoken there, if the Service says so.
    pub app_protocol: Option<Box<str>>,
    /// The number.
    pub number: u16,
}

/// A pod as an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointRecord {
    /// The pod's name.
    pub pod: Arc<str>,
    /// Which pod of that name.
    pub uid: Uid,
    /// Its address.
    pub address: IpAddr,
    /// Its node.
    pub node: Option<Box<str>>,
    /// The zone of that node.
    pub zone: Option<Box<str>>,
    /// Its condition `serving`.
    pub gate: Gate,
    /// Its condition `terminating`.
    pub lifecycle: Lifecycle,
    /// Its condition `ready`.
    pub ready: Readiness,
}

impl SliceRecord {
    /// The pods that it calls ready, by name and UID.
    pub fn ready_pods(&self) -> BTreeSet<(Arc<str>, Uid)> {
        match &self.body {
            SliceBody::Ours(slice) => {
                let ready = slice.endpoints.iter().filter(|endpoint| endpoint.ready == Readiness::Ready);
                ready.map(|endpoint| (endpoint.pod.clone(), endpoint.uid.clone())).collect()
            }
            SliceBody::Others(ready) => ready.clone(),
        }
    }

    /// The same, if it is ours.
    pub fn ours(&self) -> Option<&OurSlice> {
        match &self.body {
            SliceBody::Ours(slice) => Some(slice),
            SliceBody::Others(_) => None,
        }
    }
}

impl EndpointRecord {
    /// An endpoint of which `serving` and `terminating` are known: it is ready if it serves and is not being ended.
    #[must_use]
    pub fn settled(self) -> Self {
        let ready = match (self.gate, self.lifecycle) {
            (Gate::Open, Lifecycle::Live) => Readiness::Ready,
            (Gate::Closed, _) | (_, Lifecycle::Terminating) => Readiness::NotReady,
        };
        Self { ready, ..self }
    }
}

impl Family {
    /// The family of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// The word for it in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// The family of that name; a slice of another kind of addresses has none.
    pub fn named(name: &str) -> Option<Self> {
        [Self::V4, Self::V6].into_iter().find(|family| family.name() == name)
    }
}

impl From<EndpointSlice> for SliceRecord {
    fn from(slice: EndpointSlice) -> Self {
        let label = |name| slice.metadata.labels.as_ref().and_then(|labels| labels.get(name)).map(String::as_str);
        let policy = slice.metadata.annotations.as_ref().and_then(|annotations| annotations.get(SLICE_OF));
        let family = Family::named(&slice.address_type);
        Self {
            name: ObjectName::of(&slice.metadata),
            uid: Uid::of(&slice.metadata),
            resource_version: ResourceVersion::of(&slice.metadata),
            service: label(SERVICE_NAME).unwrap_or_default().into(),
            body: match (policy, family) {
                (Some(policy), Some(family)) if label(MANAGED_BY) == Some(SLICE_MANAGER) => {
                    let ports = slice.ports.iter().flatten().filter_map(port).collect();
                    SliceBody::Ours(OurSlice {
                        policy: policy.as_str().into(),
                        group: Group { family, ports },
                        endpoints: slice.endpoints.iter().filter_map(endpoint).collect(),
                    })
                }
                _ => SliceBody::Others(slice.endpoints.iter().filter_map(ready_pod).collect()),
            },
        }
    }
}

fn port(port: &EndpointPort) -> Option<SlicePort> {
    Some(SlicePort {
        name: port.name.as_deref().unwrap_or_default().into(),
        protocol: port.protocol.as_deref().unwrap_or("TCP").into(),
        app_protocol: port.app_protocol.as_deref().map(Into::into),
        number: u16::try_from(port.port?).ok()?,
    })
}

/// An endpoint that does not say whether it is ready is.
fn ready_pod(endpoint: &Endpoint) -> Option<(Arc<str>, Uid)> {
    let pod = endpoint.target_ref.as_ref().filter(|target| target.kind.as_deref() == Some("Pod"))?;
    let is_ready = endpoint.conditions.as_ref().is_none_or(|conditions| conditions.ready != Some(false));
    Some((pod.name.as_deref()?.into(), Uid(pod.uid.as_deref()?.into()))).filter(|_| is_ready)
}

fn endpoint(endpoint: &Endpoint) -> Option<EndpointRecord> {
    let pod = endpoint.target_ref.as_ref()?;
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let is = |condition: Option<bool>| condition == Some(true);
    Some(EndpointRecord {
        pod: pod.name.as_deref()?.into(),
        uid: Uid(pod.uid.as_deref()?.into()),
        address: endpoint.addresses.first()?.parse().ok()?,
        node: endpoint.node_name.as_deref().map(Into::into),
        zone: endpoint.zone.as_deref().map(Into::into),
        gate: if is(conditions.serving) { Gate::Open } else { Gate::Closed },
        lifecycle: if is(conditions.terminating) { Lifecycle::Terminating } else { Lifecycle::Live },
        ready: if is(conditions.ready) { Readiness::Ready } else { Readiness::NotReady },
    })
}
