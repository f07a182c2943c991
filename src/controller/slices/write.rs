//! The requests by which slices are written.
//!
//! A server-side apply holds a slice whole, and its UID if it is there already, so that one of the same name that came
//! after is never touched. Whoever takes a slice away says which one too.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};

use crate::api::{CONTROLLER, SLICE_MANAGER, SLICE_OF};
use crate::cluster::records::{
    EndpointRecord, Group, MANAGED_BY, ObjectName, SERVICE_NAME, SliceBody, SlicePort, SliceRecord, Uid,
};
use crate::controller::answer::{self, Failure};
use crate::controller::elect::Permit;
use crate::engine::{Gate, Lifecycle, Readiness};

/// Something to be done to a slice.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// It is to hold this.
    Write(SliceWrite),
    /// It is no longer needed.
    Delete {
        /// Where it is found.
        slice: ObjectName,
        /// Which one.
        uid: Uid,
    },
}

/// A slice, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceWrite {
    /// Where it is found.
    pub slice: ObjectName,
    /// Which one; `None` if it is to be made.
    pub uid: Option<Uid>,
    /// The policy whose pool it is part of.
    pub policy: Arc<str>,
    /// Its Service, and which one of that name.
    pub service: (Box<str>, Uid),
    /// What its endpoints have in common.
    pub group: Group,
    /// Its endpoints.
    pub endpoints: Vec<EndpointRecord>,
}

impl Order {
    /// The slice that it is about.
    pub fn slice(&self) -> &ObjectName {
        match self {
            Self::Write(write) => &write.slice,
            Self::Delete { slice, .. } => slice,
        }
    }

    /// Carries it out as the leader, and gives the slice as it is then; `None` if it is gone.
    ///
    /// # Errors
    /// If it was not sent, not answered in time, or refused.
    pub async fn send(
        &self,
        actor: Client,
        permit: &Permit,
        timeout: Duration,
    ) -> Result<Option<SliceRecord>, Failure> {
        match self {
            Self::Write(write) => {
                let written = answer::ask_again(permit, timeout, || write.apply(actor.clone())).await?;
                Ok(Some(written.into()))
            }
            Self::Delete { slice, uid } => {
                let slices: Api<EndpointSlice> = Api::namespaced(actor, &slice.namespace);
                let preconditions = Preconditions { uid: Some(uid.0.to_string()), resource_version: None };
                let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
                let request = async || slices.delete(&slice.name, &params).await.map(drop);
                match answer::ask_again(permit, timeout, request).await {
                    Err(Failure::Kube(kube::Error::Api(status))) if status.is_not_found() => Ok(None),
                    answer => answer.map(|()| None),
                }
            }
        }
    }
}

impl SliceWrite {
    /// A slice of ours as it stands, with all its endpoints let in; `None` for one that is not ours or has no Service.
    pub fn released(slice: EndpointSlice) -> Option<Self> {
        let owners = slice.metadata.owner_references.iter().flatten();
        let service_uid =
            owners.filter(|owner| owner.kind == "Service").map(|owner| Uid(owner.uid.as_str().into())).next()?;
        let SliceRecord { name, uid, service, body: SliceBody::Ours(ours), .. } = slice.into() else { return None };
        let open = |endpoint: EndpointRecord| EndpointRecord { gate: Gate::Open, ..endpoint }.settled();
        Some(Self {
            slice: name,
            uid: Some(uid),
            policy: ours.policy,
            service: (service, service_uid),
            group: ours.group,
            endpoints: ours.endpoints.into_iter().map(open).collect(),
        })
    }

    /// The request itself, with the rights of whoever owns the client.
    pub async fn apply(&self, client: Client) -> kube::Result<EndpointSlice> {
        let slices: Api<EndpointSlice> = Api::namespaced(client, &self.slice.namespace);
        let params = PatchParams::apply(CONTROLLER).force();
        slices.patch(&self.slice.name, &params, &Patch::Apply(self.body())).await
    }

    /// The slice as it would be seen at that version.
    #[cfg(test)]
    pub(super) fn seen_at(&self, version: u64) -> SliceRecord {
        let mut body = self.body();
        body.metadata.namespace = Some(self.slice.namespace.to_string());
        body.metadata.uid.get_or_insert_with(|| format!("uid-{version}"));
        body.metadata.resource_version = Some(version.to_string());
        body.into()
    }

    fn body(&self) -> EndpointSlice {
        let (service, service_uid) = &self.service;
        let labels = [(SERVICE_NAME, &**service), (MANAGED_BY, SLICE_MANAGER)];
        let owner = OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: service.to_string(),
            uid: service_uid.0.to_string(),
            ..OwnerReference::default()
        };
        EndpointSlice {
            metadata: ObjectMeta {
                name: Some(self.slice.name.to_string()),
                uid: self.uid.as_ref().map(|uid| uid.0.to_string()),
                labels: Some(labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
                annotations: Some(BTreeMap::from([(SLICE_OF.to_owned(), self.policy.to_string())])),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            address_type: self.group.family.name().to_owned(),
            ports: Some(self.group.ports.iter().map(port).collect()),
            endpoints: self.endpoints.iter().map(|it| endpoint(&self.slice.namespace, it)).collect(),
        }
    }
}

fn port(port: &SlicePort) -> EndpointPort {
    EndpointPort {
        name: Some(port.name.to_string()),
        port: Some(i32::from(port.number)),
        protocol: Some(port.protocol.to_string()),
        app_protocol: port.app_protocol.as_deref().map(str::to_owned),
    }
}

fn endpoint(namespace: &str, endpoint: &EndpointRecord) -> Endpoint {
    Endpoint {
        addresses: vec![endpoint.address.to_string()],
        conditions: Some(EndpointConditions {
            ready: Some(endpoint.ready == Readiness::Ready),
            serving: Some(endpoint.gate == Gate::Open),
            terminating: Some(endpoint.lifecycle == Lifecycle::Terminating),
        }),
        node_name: endpoint.node.as_deref().map(str::to_owned),
        zone: endpoint.zone.as_deref().map(str::to_owned),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: Some(namespace.to_owned()),
            name: Some(endpoint.pod.to_string()),
            uid: Some(endpoint.uid.0.to_string()),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::Family;

    #[test]
    fn what_is_written_reads_as_it_was_meant() {
        let port = SlicePort { name: "".into(), protocol: "TCP".into(), app_protocol: None, number: 8080 };
        let group = Group { family: Family::V6, ports: [port].into() };
        let endpoint = EndpointRecord {
            pod: "web-0".into(),
            uid: Uid("uid-web-0".into()),
            address: "fd00::7".parse().unwrap(),
            node: Some("node-a".into()),
            zone: Some("east".into()),
            gate: Gate::Open,
            lifecycle: Lifecycle::Terminating,
            ready: Readiness::NotReady,
        };
        let write = SliceWrite {
            slice: ObjectName::new("shop", "web-1"),
            uid: Some(Uid("uid-slice".into())),
            policy: "web".into(),
            service: ("shop".into(), Uid("uid-service".into())),
            group: group.clone(),
            endpoints: vec![endpoint.clone()],
        };
        let record = write.seen_at(1);
        assert_eq!((&record.name, &record.uid, &*record.service), (&write.slice, &Uid("uid-slice".into()), "shop"));
        let SliceBody::Ours(ours) = record.body else { panic!("not ours") };
        assert_eq!((&*ours.policy, ours.group, &*ours.endpoints), ("web", group, &[endpoint][..]));
    }
}
