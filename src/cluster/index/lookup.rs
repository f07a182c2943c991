//! What executors ask the index: the names behind the engine's keys, and where attempts go.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Index, PoolName};
use crate::api::{Handler, ParsedPolicy, SeatName, Sockets};
use crate::cluster::WatchKind;
use crate::cluster::records::{
    ObjectName, OwnerRecord, PodRecord, PolicyRecord, ServiceRecord, SliceRecord, Uid, of_namespace,
};
use crate::cluster::target::{self, Place};
use crate::engine::{
    Gate, Incarnation, NodeKey, OwnerKey, PolicyKey, ReplicaKey, RevisionKey, RuleKind, SeatKey, Slot,
};

/// Where an attempt goes, and what it asks there.
#[derive(Debug, PartialEq, Eq)]
pub struct AttemptTarget<'a> {
    /// Into which pod.
    pub pod: &'a PodRecord,
    /// The addresses with the port, if the handler needs them and the pod has one yet.
    pub sockets: Option<Sockets>,
    /// The name of the container.
    pub container: &'a str,
    /// What.
    pub handler: &'a Handler,
}

impl Index {
    /// The pod behind a key, as long as it exists.
    pub fn pod(&self, replica: ReplicaKey) -> Option<&PodRecord> {
        self.replicas.get(replica).and_then(|name| self.pods.get(name)).map(|pod| &pod.record)
    }

    /// The first address of the pod of that name.
    pub fn address_of(&self, name: &ObjectName) -> Option<IpAddr> {
        self.pods.get(name)?.record.addresses.first().copied()
    }

    /// The key of a pod that is to say by itself that it is there: it is kept by a policy with a heartbeat rule.
    pub fn asked_to_beat(&self, name: &ObjectName, uid: &Uid) -> Option<ReplicaKey> {
        self.pods.get(name).filter(|pod| pod.record.uid == *uid && pod.is_to_beat())?.replica
    }

    /// The ID of the container that is this incarnation; `None` once another has taken its place, and before the
    /// kubelet has named it.
    pub fn container_id(&self, replica: ReplicaKey, incarnation: Incarnation) -> Option<&str> {
        let pod = self.pods.get(self.replicas.get(replica)?)?;
        let at = pod.incarnations.iter().position(|&current| current == incarnation)?;
        pod.record.containers.get(at)?.id.as_deref()
    }

    /// Where an attempt of a rule goes now, and what it asks there; `None` if the pod has no such target.
    pub fn attempt_target(&self, replica: ReplicaKey, policy: PolicyKey, rule: RuleKind) -> Option<AttemptTarget<'_>> {
        let pod = self.pod(replica)?;
        let ask = self.policies.asks(policy)?[rule].as_ref()?;
        let Place { container, sockets } = target::resolve(pod, ask).ok()?;
        Some(AttemptTarget { pod, sockets, container: &pod.containers[container].name, handler: &ask.handler })
    }

    /// A policy's object as last seen.
    pub fn policy(&self, policy: PolicyKey) -> Option<&PolicyRecord> {
        self.policies.get(policy)
    }

    /// The spec of a policy that is in force: the last one that made sense.
    pub fn in_force(&self, policy: PolicyKey) -> Option<&ParsedPolicy> {
        self.policies.in_force(policy)
    }

    /// Every policy's object, in the order of the keys.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyKey, &PolicyRecord)> {
        self.policies.iter()
    }

    /// The pods that a policy selects but an older one keeps, by the policy that keeps them.
    pub fn lost(&self, policy: PolicyKey) -> BTreeMap<PolicyKey, Vec<ReplicaKey>> {
        let mut lost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (replica, name) in self.replicas.iter() {
            if let Some(pod) = self.pods.get(name)
                && let Some(keeper) = pod.policy().filter(|&keeper| keeper != policy)
                && self.policies.selects(policy, &pod.record)
            {
                lost.entry(keeper).or_default().push(replica);
            }
        }
        lost
    }

    /// The pools that policies in force keep by slices.
    pub fn pools(&self) -> impl Iterator<Item = (PolicyKey, PoolName)> {
        self.policies.iter().filter_map(|(policy, _)| Some((policy, self.policies.pool(policy)?)))
    }

    /// The pool of a policy, if it is told by slices.
    pub fn pool(&self, policy: PolicyKey) -> Option<PoolName> {
        self.policies.pool(policy)
    }

    /// The pods of a namespace, each with the policy that keeps it.
    pub fn pods_in(&self, namespace: &str) -> impl Iterator<Item = (Option<PolicyKey>, &PodRecord)> {
        of_namespace(&self.pods, namespace).map(|pod| (pod.policy(), &pod.record))
    }

    /// The pod of that name, with the policy that keeps it.
    pub fn pod_named(&self, name: &ObjectName) -> Option<(Option<PolicyKey>, &PodRecord)> {
        self.pods.get(name).map(|pod| (pod.policy(), &pod.record))
    }

    /// Every EndpointSlice that is ours, or of a Service.
    pub fn slices(&self) -> impl Iterator<Item = &SliceRecord> {
        self.slices.all()
    }

    /// The same, of one namespace.
    pub fn slices_in(&self, namespace: &str) -> impl Iterator<Item = &SliceRecord> {
        self.slices.of_namespace(namespace)
    }

    /// The EndpointSlice of that name.
    pub fn slice(&self, name: &ObjectName) -> Option<&SliceRecord> {
        self.slices.slice(name)
    }

    /// The Service of that name.
    pub fn service(&self, name: &ObjectName) -> Option<&ServiceRecord> {
        self.slices.service(name)
    }

    /// Whether Services and EndpointSlices are watched at all.
    pub fn watches_slices(&self) -> bool {
        self.watched.contains(&WatchKind::EndpointSlices)
    }

    /// The gate of a pod in the slices of a pool: closed if any of them has it so; `None` if it is in none.
    pub fn gate_in_slices(&self, pod: &Uid, pool: &PoolName) -> Option<Gate> {
        self.slices.gate(pod, pool)
    }

    /// The pool by slices of the policy that keeps a replica.
    pub fn pool_of(&self, replica: ReplicaKey) -> Option<PoolName> {
        self.policies.pool(self.pods.get(self.replicas.get(replica)?)?.policy()?)
    }

    /// The zone that a node is in, if it is known.
    pub fn zone(&self, node: &str) -> Option<&str> {
        self.nodes.zone(node)
    }

    /// An owner as last seen, also after it is gone.
    pub fn owner(&self, owner: OwnerKey) -> Option<&OwnerRecord> {
        self.owners.get(owner)
    }

    /// A node's name.
    pub fn node(&self, node: NodeKey) -> Option<&str> {
        self.nodes.name(node)
    }

    /// A revision's name: the hash that its owner labels its pods with.
    pub fn revision(&self, revision: RevisionKey) -> Option<&str> {
        self.revisions.name(revision)
    }

    /// A seat's name in the status.
    pub fn seat_name(&self, seat: SeatKey) -> Option<SeatName> {
        match seat.slot {
            Slot::Ordinal(ordinal) => Some(SeatName::Ordinal(ordinal)),
            Slot::Node(node) => self.nodes.name(node).map(|name| SeatName::Node(name.to_owned())),
            Slot::Nth(n) => Some(SeatName::Nth(n)),
        }
    }

    /// A seat's name for people: `web-3`, `node-a`, `#2`.
    pub fn seat_label(&self, seat: SeatKey) -> Option<String> {
        match seat.slot {
            Slot::Ordinal(ordinal) => self.owner(seat.owner).map(|owner| format!("{}-{ordinal}", owner.name.name)),
            Slot::Node(node) => self.nodes.name(node).map(str::to_owned),
            Slot::Nth(n) => Some(format!("#{n}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::test_support::{FIRST, OLDEST, World, policy, web};

    #[test]
    fn an_attempt_goes_to_the_first_address_at_the_port_that_the_rule_means() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        let target = world.index.attempt_target(FIRST, OLDEST, RuleKind::Liveness).unwrap();
        assert_eq!(target.sockets, Some(Sockets::One("10.0.0.7:8080".parse().unwrap())));
        assert_eq!(target.container, "app");
        assert!(matches!(target.handler, Handler::Http(get) if get.path() == "/live"));
        assert_eq!(world.index.attempt_target(FIRST, OLDEST, RuleKind::Readiness), None);
    }

    #[test]
    fn seats_have_names_for_the_status_and_for_people() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("fake-3").owned("StatefulSet", "fake"));
        for (slot, name, label) in [
            (Slot::Ordinal(3), SeatName::Ordinal(3), "fake-3"),
            (Slot::Node(NodeKey(0)), SeatName::Node("node-a".to_owned()), "node-a"),
            (Slot::Nth(2), SeatName::Nth(2), "#2"),
        ] {
            let seat = SeatKey { owner: OwnerKey(0), slot };
            assert_eq!(world.index.seat_name(seat), Some(name));
            assert_eq!(world.index.seat_label(seat).as_deref(), Some(label));
        }
    }
}
