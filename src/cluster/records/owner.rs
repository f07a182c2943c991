use k8s_openapi::api::apps::v1::{DaemonSet, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::ReplicationController;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{ObjectName, Uid};
use crate::cluster::WatchKind;
use crate::engine::{Owner, OwnerKind};

/// What creates replicas: one ReplicaSet, StatefulSet, DaemonSet or ReplicationController.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRecord {
    /// The watch that shows it; `None` for one that only its replicas name.
    pub watch: Option<WatchKind>,
    /// Where it is found.
    pub name: ObjectName,
    /// Which one.
    pub uid: Uid,
    /// What the engine hears of it.
    pub owner: Owner,
}

/// A pod's controller, as its owner reference names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRef {
    /// Its kind: `ReplicaSet`.
    pub kind: Box<str>,
    /// Its name, in the pod's namespace.
    pub name: Box<str>,
    /// Which one.
    pub uid: Uid,
}

const ON_DELETE: &str = "OnDelete";

impl OwnerRef {
    pub(super) fn of(meta: &mut ObjectMeta) -> Option<Self> {
        let controller = meta.owner_references.take()?.into_iter().find(|owner| owner.controller == Some(true))?;
        Some(Self { kind: controller.kind.into(), name: controller.name.into(), uid: Uid(controller.uid.into()) })
    }

    /// What is held of the owner while no watch has shown it: it wants nothing, so nothing is restarted on its behalf.
    /// Jobs and foreign kinds are never watched.
    pub fn unseen(&self) -> Owner {
        let kind = match &*self.kind {
            "ReplicaSet" | "ReplicationController" | "DaemonSet" => OwnerKind::Recreates,
            "StatefulSet" => OwnerKind::RecreatesInOrder,
            "Job" => OwnerKind::Job,
            _ => OwnerKind::Other,
        };
        Owner { kind, desired: 0, first: 0 }
    }
}

impl From<ReplicaSet> for OwnerRecord {
    fn from(set: ReplicaSet) -> Self {
        record(WatchKind::ReplicaSets, &set.metadata, OwnerKind::Recreates, set.spec.and_then(|spec| spec.replicas), 0)
    }
}

impl From<ReplicationController> for OwnerRecord {
    fn from(controller: ReplicationController) -> Self {
        let replicas = controller.spec.and_then(|spec| spec.replicas);
        record(WatchKind::ReplicationControllers, &controller.metadata, OwnerKind::Recreates, replicas, 0)
    }
}

impl From<StatefulSet> for OwnerRecord {
    fn from(set: StatefulSet) -> Self {
        let spec = set.spec.unwrap_or_default();
        let on_delete = spec.update_strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some(ON_DELETE));
        let kind = match spec.pod_management_policy.as_deref() {
            _ if on_delete => OwnerKind::OnDelete,
            Some("Parallel") => OwnerKind::Recreates,
            _ => OwnerKind::RecreatesInOrder,
        };
        let first = spec.ordinals.and_then(|ordinals| ordinals.start).unwrap_or(0);
        record(WatchKind::StatefulSets, &set.metadata, kind, spec.replicas, first)
    }
}

impl From<DaemonSet> for OwnerRecord {
    fn from(set: DaemonSet) -> Self {
        let strategy = set.spec.and_then(|spec| spec.update_strategy);
        let on_delete = strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some(ON_DELETE));
        let kind = if on_delete { OwnerKind::OnDelete } else { OwnerKind::Recreates };
        let desired = set.status.map_or(0, |status| status.desired_number_scheduled);
        record(WatchKind::DaemonSets, &set.metadata, kind, Some(desired), 0)
    }
}

fn record(watch: WatchKind, meta: &ObjectMeta, kind: OwnerKind, replicas: Option<i32>, first: i32) -> OwnerRecord {
    let desired = match meta.deletion_timestamp {
        Some(_) => 0,
        None => replicas.unwrap_or(1),
    };
    let count = |n: i32| u32::try_from(n).unwrap_or(0);
    OwnerRecord {
        watch: Some(watch),
        name: ObjectName::of(meta),
        uid: Uid::of(meta),
        owner: Owner { kind, desired: count(desired), first: count(first) },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::test_support::owner;

    fn stateful_set(spec: Value) -> Owner {
        let mut object = json!({"spec": {"serviceName": "", "selector": {}, "template": {}}});
        for (field, value) in spec.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        owner::<StatefulSet>("fake", object).owner
    }

    #[test]
    fn a_stateful_set_waits_for_lower_ordinals_unless_it_works_in_parallel() {
        use OwnerKind::{OnDelete, Recreates, RecreatesInOrder};
        for (spec, kind, desired, first) in [
            (json!({}), RecreatesInOrder, 1, 0),
            (json!({"replicas": 0}), RecreatesInOrder, 0, 0),
            (json!({"podManagementPolicy": "OrderedReady", "ordinals": {"start": 5}}), RecreatesInOrder, 1, 5),
            (json!({"podManagementPolicy": "Parallel", "replicas": 8}), Recreates, 8, 0),
            (json!({"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}), OnDelete, 1, 0),
        ] {
            assert_eq!(stateful_set(spec.clone()), Owner { kind, desired, first }, "{spec}");
        }
    }

    #[test]
    fn a_daemon_set_wants_what_its_status_says() {
        let status = json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 3, "numberMisscheduled": 0,
            "numberReady": 0});
        for (strategy, kind) in [("RollingUpdate", OwnerKind::Recreates), (ON_DELETE, OwnerKind::OnDelete)] {
            let spec = json!({"selector": {}, "template": {}, "updateStrategy": {"type": strategy}});
            let set = owner::<DaemonSet>("agent", json!({"spec": spec, "status": status}));
            assert_eq!(set.owner, Owner { kind, desired: 3, first: 0 });
        }
    }

    #[test]
    fn an_owner_that_is_being_deleted_wants_nothing() {
        let spec = json!({"replicas": 3, "selector": {}});
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec});
        assert_eq!(owner::<ReplicaSet>("web", deleted.clone()).owner.desired, 0);
        assert_eq!(owner::<ReplicationController>("web", deleted).owner.desired, 0);
    }
}
