use k8s_openapi::api::coordination::v1::Lease;

use super::{ObjectName, Uid};
use crate::engine::Time;
use crate::runtime::time;

/// A Lease by which a pod says that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// Where it is found; the pod bears the same name.
    pub name: ObjectName,
    /// Which pod owns it, if it says so: then it speaks for no later pod of that name.
    pub pod: Option<Uid>,
    /// When its holder last renewed it, by the holder's own clock; `None` if nobody holds it (any more).
    pub renewed: Option<Time>,
}

impl From<Lease> for LeaseRecord {
    fn from(lease: Lease) -> Self {
        let spec = lease.spec.unwrap_or_default();
        let is_held = spec.holder_identity.is_some_and(|holder| !holder.is_empty());
        let owners = lease.metadata.owner_references.iter().flatten();
        Self {
            name: ObjectName::of(&lease.metadata),
            pod: owners.filter(|owner| owner.kind == "Pod").map(|owner| Uid(owner.uid.as_str().into())).next(),
            renewed: spec.renew_time.filter(|_| is_held).map(|renewed| time(renewed.0)),
        }
    }
}
