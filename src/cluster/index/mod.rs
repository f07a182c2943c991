//! What is known of the cluster, by name, and what of it the engine has been told.

mod dependencies;
mod in_slices;
mod leases;
mod lookup;
mod owners;
mod pods;
mod policies;
mod replay;
mod revisions;
mod slab;
mod slices;

use std::collections::{BTreeMap, BTreeSet};

use super::listing::{Listed, Listing, News};
use super::records::{
    LeaseRecord, NodeRecord, ObjectName, OwnerRecord, PodRecord, PolicyRecord, ResourceVersion, ServiceRecord,
    SliceRecord, Uid, of_namespace,
};
use super::{Scope, WatchEvent, WatchKind};
use crate::engine::{Gate, GateSeen, Input, NodeState, Observation, ReplicaKey, Time};
use leases::{Leases, Word};
use owners::{Nodes, Owners};
use pods::Pod;
use policies::Policies;
use revisions::Revisions;
use slab::Slab;
use slices::Slices;

pub use super::listing::WatchHealth;
pub use dependencies::DependencyTargets;
pub use in_slices::Move;
pub use lookup::AttemptTarget;
pub use slices::{PoolName, Touched};

/// What is known of the cluster. Pure: it is told what the watches delivered, and answers with the inputs that follow.
#[derive(Debug)]
pub struct Index {
    /// Apart from the tree, whose nodes are half empty.
    pods: BTreeMap<ObjectName, Box<Pod>>,
    replicas: Slab<ObjectName>,
    policies: Policies,
    owners: Owners,
    nodes: Nodes,
    revisions: Revisions,
    pod_watch: Listing<PodRecord>,
    policy_watch: Listing<PolicyRecord>,
    leases: Leases,
    slices: Slices,
    node_watch: Listing<NodeRecord>,
    owner_watches: BTreeMap<WatchKind, Listing<OwnerRecord>>,
    watched: Vec<WatchKind>,
}

impl Index {
    /// An index of nothing yet.
    pub fn new(scope: &Scope) -> Self {
        Self {
            pods: BTreeMap::new(),
            replicas: Slab::default(),
            policies: Policies::default(),
            owners: Owners::default(),
            nodes: Nodes::new(match scope {
                Scope::Cluster => NodeState::NotReady,
                Scope::Namespace(_) => NodeState::Ready,
            }),
            revisions: Revisions::default(),
            pod_watch: Listing::default(),
            policy_watch: Listing::default(),
            leases: Leases::default(),
            slices: Slices::default(),
            node_watch: Listing::default(),
            owner_watches: BTreeMap::new(),
            watched: scope.watched(),
        }
    }

    /// The same, of a process that does not watch Services and EndpointSlices.
    #[must_use]
    pub fn without_slices(mut self) -> Self {
        self.watched.retain(|kind| !matches!(kind, WatchKind::Services | WatchKind::EndpointSlices));
        self
    }

    /// Takes in what a watch delivered, and says what the engine must hear of it: only what has changed. An engine
    /// that begins later hears everything from [`Index::replay`], so what is returned before that may be dropped.
    pub fn apply(&mut self, event: WatchEvent, now: Time) -> Vec<Input> {
        let mut inputs = Vec::new();
        match event {
            WatchEvent::Pods(change) => {
                let known = || self.pods.keys().cloned().collect();
                let News { gone, seen } = self.pod_watch.take(change, known, now);
                gone.iter().for_each(|name| self.pod_gone(name, &mut inputs));
                seen.into_iter().for_each(|record| self.pod_seen(record, &mut inputs));
            }
            WatchEvent::Policies(change) => {
                let known = || self.policies.iter().map(|(_, record)| record.name.clone()).collect();
                let News { gone, seen } = self.policy_watch.take(change, known, now);
                gone.iter().for_each(|name| self.policy_gone(name, &mut inputs));
                seen.into_iter().for_each(|record| self.policy_seen(record, &mut inputs));
            }
            WatchEvent::Leases(change) => {
                let words = self.leases.take(change, now);
                inputs.extend(words.into_iter().filter_map(|word| self.said(word)));
            }
            WatchEvent::Services(change) => self.slices.take_services(change, now),
            WatchEvent::EndpointSlices(change) => {
                let pods = &self.pods;
                let follows = |name: &ObjectName, uid: &Uid| {
                    pods.get(name).is_some_and(|pod| pod.replica.is_some() && pod.record.uid == *uid)
                };
                let pods = self.slices.take_slices(change, follows, now);
                self.tell_all(pods, &mut inputs);
            }
            WatchEvent::Nodes(change) => {
                let News { gone, seen } = self.node_watch.take(change, || self.nodes.names(), now);
                gone.iter().for_each(|name| self.nodes.gone(name, &mut inputs));
                seen.into_iter().for_each(|record| self.nodes.seen(record, &mut inputs));
            }
            WatchEvent::Owners(kind, change) => {
                let watch = self.owner_watches.entry(kind).or_default();
                let News { gone, seen } = watch.take(change, || self.owners.of_watch(kind), now);
                gone.iter().for_each(|uid| self.owners.gone(uid, &mut inputs));
                seen.into_iter().for_each(|record| self.owners.seen(record, &mut inputs));
            }
        }
        inputs
    }

    /// Our write of a pod's gate made `version` of the pod; `gate` is `None` if only the verdict was written. Older
    /// events that are still on their way do not make the gate look unwritten.
    pub fn wrote(&mut self, replica: ReplicaKey, version: ResourceVersion, gate: Option<Gate>) -> Vec<Input> {
        let mut inputs = Vec::new();
        if let Some(name) = self.replicas.get(replica).cloned()
            && let Some(pod) = self.pods.get_mut(&name)
        {
            pod.wrote(version, gate);
            self.tell(&name, &mut inputs);
        }
        inputs
    }

    /// Our write made a slice what it says.
    pub fn wrote_slice(&mut self, slice: SliceRecord) -> Vec<Input> {
        let mut inputs = Vec::new();
        let pods = self.slices.seen(slice);
        self.tell_all(pods, &mut inputs);
        inputs
    }

    /// We have deleted a slice.
    pub fn deleted_slice(&mut self, slice: &ObjectName) -> Vec<Input> {
        let mut inputs = Vec::new();
        let pods = self.slices.gone(slice);
        self.tell_all(pods, &mut inputs);
        inputs
    }

    /// What slices may have to follow since this was asked last.
    pub fn take_touched(&mut self) -> BTreeSet<Touched> {
        self.slices.take_touched()
    }

    /// The pods that entered the slices of Services, or left them, since this was asked last.
    pub fn take_moves(&mut self) -> Vec<Move> {
        self.slices.take_moves()
    }

    /// Whether the first list of every watch is complete, so that what is missing here is missing in the cluster.
    pub fn is_synced(&self) -> bool {
        self.watches().all(|(_, health)| health.listed)
    }

    /// Every watch, and how it fares.
    pub fn watches(&self) -> impl Iterator<Item = (WatchKind, WatchHealth)> {
        self.watched.iter().map(|&kind| {
            let health = match kind {
                WatchKind::Policies => Some(self.policy_watch.health()),
                WatchKind::Pods => Some(self.pod_watch.health()),
                WatchKind::Leases => Some(self.leases.health()),
                WatchKind::Services => Some(self.slices.service_health()),
                WatchKind::EndpointSlices => Some(self.slices.slice_health()),
                WatchKind::Nodes => Some(self.node_watch.health()),
                WatchKind::ReplicaSets
                | WatchKind::StatefulSets
                | WatchKind::DaemonSets
                | WatchKind::ReplicationControllers => self.owner_watches.get(&kind).map(Listing::health),
            };
            (kind, health.cloned().unwrap_or_default())
        })
    }

    /// What a Lease says, if it speaks for the very pod that bears its name.
    fn said(&self, word: Word) -> Option<Input> {
        let replica = |name: &ObjectName, uid: Option<Uid>| {
            let pod = self.pods.get(name).filter(|pod| uid.is_none_or(|uid| uid == pod.record.uid));
            pod.and_then(|pod| pod.replica)
        };
        match word {
            Word::Beat(name, uid) => replica(&name, uid).map(|replica| Input::Beat { replica }),
            Word::Deregistered(name, uid) => replica(&name, uid).map(|replica| Input::Deregistered { replica }),
            Word::Deaf(until) => Some(Input::Deaf { until }),
        }
    }

    fn pod_seen(&mut self, record: PodRecord, inputs: &mut Vec<Input>) {
        let name = record.name.clone();
        if self.pods.get(&name).is_some_and(|known| known.record.uid != record.uid) {
            self.pod_gone(&name, inputs);
        }
        match self.pods.get_mut(&name) {
            Some(pod) => pod.update(record),
            None => {
                self.pods.insert(name.clone(), Box::new(Pod::new(record)));
            }
        }
        self.tell(&name, inputs);
    }

    fn pod_gone(&mut self, name: &ObjectName, inputs: &mut Vec<Input>) {
        self.touch_pod(name);
        if let Some(replica) = self.pods.remove(name).and_then(|pod| pod.replica) {
            self.replicas.remove(replica);
            inputs.push(Input::ReplicaGone { replica });
        }
    }

    fn policy_seen(&mut self, record: PolicyRecord, inputs: &mut Vec<Input>) {
        let name = record.name.clone();
        let known = self.policies.key(&name).and_then(|policy| self.policies.get(policy));
        if known.is_some_and(|known| known.uid != record.uid) {
            self.policy_gone(&name, inputs);
        }
        if self.policies.seen(record, inputs) {
            self.slices.touch(Touched::Pools);
            self.tell_namespace(&name.namespace, inputs);
        }
    }

    fn policy_gone(&mut self, name: &ObjectName, inputs: &mut Vec<Input>) {
        if self.policies.gone(name, inputs) {
            self.slices.touch(Touched::Pools);
            self.tell_namespace(&name.namespace, inputs);
        }
    }

    fn tell_namespace(&mut self, namespace: &str, inputs: &mut Vec<Input>) {
        let names: Vec<_> = of_namespace(&self.pods, namespace).map(|pod| pod.record.name.clone()).collect();
        for name in names {
            self.tell(&name, inputs);
        }
    }

    fn tell_all(&mut self, names: BTreeSet<ObjectName>, inputs: &mut Vec<Input>) {
        for name in names {
            self.tell(&name, inputs);
        }
    }

    fn touch_pod(&mut self, name: &ObjectName) {
        if !self.slices.hold_nobody() || self.policies.have_slices() {
            self.slices.touch(Touched::Pod(name.clone()));
        }
    }

    /// Tells the engine of a pod as it is now. It matters once a policy keeps it or it has our gate: a gate that no
    /// policy would open is opened all the same.
    fn tell(&mut self, name: &ObjectName, inputs: &mut Vec<Input>) {
        self.touch_pod(name);
        let Some(pod) = self.pods.get_mut(name) else { return };
        let policy = self.policies.keeper(&pod.record);
        let (gate, ready) = match policy.and_then(|policy| self.policies.pool(policy)) {
            Some(pool) => self.slices.stand(&pod.record, &pool),
            None => (pod.record.gate, pod.record.ready),
        };
        if pod.replica.is_none() && policy.is_none() && pod.record.gate == GateSeen::Ungated {
            return;
        }
        let node = pod.record.node.as_deref().map(|node| self.nodes.key(node, inputs));
        let Some(place) = pod.place(node) else { return };
        let owner = pod.record.owner.as_ref().map(|owner| self.owners.key(owner, &name.namespace, inputs));
        let replica = *pod.replica.get_or_insert_with(|| self.replicas.insert(name.clone()));
        let seen = Observation {
            policy,
            owner,
            place,
            revision: pod.record.revision().map(|revision| self.revisions.key(revision)),
            node,
            lifecycle: pod.record.lifecycle,
            paused_until: pod.record.paused_until(),
            ready,
            gate,
            targets: policy
                .and_then(|policy| self.policies.asks(policy))
                .map(|asks| pod.targets(asks))
                .unwrap_or_default(),
            heartbeat: policy.and_then(|policy| self.policies.beating(policy)).map(|container| pod.beating(container)),
            spread: pods::spread(&pod.record.uid),
            created: pod.record.created,
        };
        pod.tell(replica, seen, inputs);
    }
}

/// By name, and in the order of the names.
macro_rules! listed_by_name {
    ($($record:ty, $name:ty;)*) => {
        $(impl Listed for $record {
            type Key = $name;
            type Order = $name;
            fn key(&self) -> $name {
                self.name.clone()
            }
            fn order(&self) -> $name {
                self.name.clone()
            }
        })*
    };
}

listed_by_name! {
    PodRecord, ObjectName;
    LeaseRecord, ObjectName;
    ServiceRecord, ObjectName;
    SliceRecord, ObjectName;
    NodeRecord, Box<str>;
}

/// The oldest first: keys are handed out in that order.
impl Listed for PolicyRecord {
    type Key = ObjectName;
    type Order = (Time, ObjectName);
    fn key(&self) -> ObjectName {
        self.name.clone()
    }
    fn order(&self) -> (Time, ObjectName) {
        (self.created, self.name.clone())
    }
}

impl Listed for OwnerRecord {
    type Key = Uid;
    type Order = ObjectName;
    fn key(&self) -> Uid {
        self.uid.clone()
    }
    fn order(&self) -> ObjectName {
        self.name.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::PAUSED_UNTIL;
    use crate::cluster::Change;
    use crate::cluster::test_support::{FIRST, OLDEST, World, observed, policy, web};
    use crate::engine::{Readiness, Span};

    #[test]
    fn a_pod_that_no_policy_selects_and_without_our_gate_is_not_told() {
        let mut world = World::new();
        assert_eq!(world.pod(web("a")), []);
        assert_ne!(world.pod(web("b").gated()), []);
    }

    #[test]
    fn a_policy_that_comes_later_finds_the_pods_that_were_there() {
        let mut world = World::new();
        world.pod(web("a"));
        world.pod(web("elsewhere").namespace("other"));
        world.pod(web("unlabelled").label("app", "other"));
        let told = world.policy(policy("p", "00:00:00").record());
        assert!(matches!(told[0], Input::PolicySet { policy: OLDEST, .. }));
        assert_eq!(observed(&told).iter().map(|seen| seen.policy).collect::<Vec<_>>(), [Some(OLDEST)]);
    }

    #[test]
    fn nothing_is_told_twice() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        assert_eq!(world.pod(web("a").version("2")), []);
        assert_eq!(world.policy(policy("p", "00:00:00").status(json!({"replicas": 1})).record()), []);
        assert_eq!(observed(&world.pod(web("a").condition("Ready", "True")))[0].ready, Readiness::Ready);
    }

    #[test]
    fn a_pause_of_a_pod_or_a_policy_is_told_and_one_that_is_no_instant_pauses_nothing() {
        let mut world = World::new();
        let policies = |until| policy("p", "00:00:00").annotation(PAUSED_UNTIL, until).record();
        world.policy(policy("p", "00:00:00").record());
        let paused = |told: &[Input]| observed(told)[0].paused_until;
        let pod = |until| web("a").annotation(PAUSED_UNTIL, until);
        assert_eq!(paused(&world.pod(web("a"))), None);
        assert_eq!(paused(&world.pod(pod("1970-01-01T00:00:07Z"))), Some(Time::ZERO + Span::from_secs(7)));
        assert_eq!(paused(&world.pod(pod("for ever"))), None);

        let told = world.policy(policies("1970-01-01T00:00:09Z"));
        let [Input::PolicySet { spec, .. }] = &told[..] else { panic!("{told:?}") };
        assert_eq!(spec.paused_until, Some(Time::ZERO + Span::from_secs(9)));
        let told = world.policy(policies("tomorrow"));
        let [Input::PolicySet { spec, .. }] = &told[..] else { panic!("{told:?}") };
        assert_eq!(spec.paused_until, None);
    }

    #[test]
    fn a_policy_that_makes_no_sense_any_more_can_still_be_paused() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let invalid = policy("p", "00:00:00").spec("selector", json!({"matchLabels": {}}));
        let told = world.policy(invalid.annotation(PAUSED_UNTIL, "1970-01-01T00:00:09Z").record());
        let [Input::PolicySet { spec, .. }, Input::PolicyInvalid { .. }] = &told[..] else { panic!("{told:?}") };
        assert_eq!(spec.paused_until, Some(Time::ZERO + Span::from_secs(9)));
    }

    #[test]
    fn what_a_new_list_does_not_contain_was_deleted_while_nobody_watched() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        world.pod(web("b"));
        assert_eq!(world.apply(WatchEvent::Pods(Change::ListBegan)), []);
        assert_eq!(world.apply(WatchEvent::Pods(Change::Listed(web("b").record()))), []);
        assert_eq!(world.apply(WatchEvent::Pods(Change::ListEnded)), [Input::ReplicaGone { replica: FIRST }]);
    }

    #[test]
    fn a_pod_made_again_under_its_name_is_another_replica() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        let told = world.pod(web("a").uid("uid-again"));
        assert_eq!(told[0], Input::ReplicaGone { replica: FIRST });
        assert!(matches!(told[1], Input::ReplicaSeen { replica: ReplicaKey { index: 0, generation: 1 }, .. }));
        assert_eq!(world.index.pod(FIRST), None);
    }

    #[test]
    fn a_lease_speaks_for_the_very_pod_of_its_name_if_the_policy_hears_it() {
        let mut world = World::new();
        world.apply(WatchEvent::Leases(Change::ListEnded));
        world.policy(policy("p", "00:00:00").spec("heartbeat", json!({"timeToLive": "30s"})).record());
        let seen = observed(&world.pod(web("a")))[0].clone();
        assert_eq!(seen.heartbeat, seen.targets.liveness, "the only container");
        let lease = |pod: &str, renewed| LeaseRecord {
            name: ObjectName::new("shop", "a"),
            pod: Some(Uid(pod.into())),
            renewed: Some(Time::from_nanos(renewed)),
        };
        let mut renew = |pod, renewed| world.apply(WatchEvent::Leases(Change::Applied(lease(pod, renewed))));
        assert_eq!(renew("uid-a", 1), [Input::Beat { replica: FIRST }]);
        assert_eq!(renew("uid-of-the-one-before", 2), []);
        let gone = world.apply(WatchEvent::Leases(Change::Deleted(lease("uid-of-the-one-before", 2))));
        assert_eq!(gone, []);
    }

    #[test]
    fn it_is_synced_once_every_list_is_complete() {
        let mut world = World::new();
        for kind in WatchKind::ALL {
            assert!(!world.index.is_synced(), "{}", kind.name());
            world.apply(match kind {
                WatchKind::Policies => WatchEvent::Policies(Change::ListEnded),
                WatchKind::Pods => WatchEvent::Pods(Change::ListEnded),
                WatchKind::Leases => WatchEvent::Leases(Change::ListEnded),
                WatchKind::Services => WatchEvent::Services(Change::ListEnded),
                WatchKind::EndpointSlices => WatchEvent::EndpointSlices(Change::ListEnded),
                WatchKind::Nodes => WatchEvent::Nodes(Change::ListEnded),
                WatchKind::ReplicaSets
                | WatchKind::StatefulSets
                | WatchKind::DaemonSets
                | WatchKind::ReplicationControllers => WatchEvent::Owners(kind, Change::ListEnded),
            });
        }
        assert!(world.index.is_synced());
    }
}
