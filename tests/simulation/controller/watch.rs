//! What a controller is shown of the cluster, late and collapsed, and what it resumes from.

use probe_policy::engine::{Input, Intent, Lifecycle, PerRule, Remembered, ReplicaKey, SeatMemory, Time};

use super::super::cluster::{Cluster, Status, Thing};
use super::super::invariants::History;
use super::{Around, Controller};

impl Controller {
    /// Sees what a watch shows by now, in any order: only the latest of what happened to a thing.
    pub(super) fn watch(&mut self, around: &mut Around<'_>) {
        if self.cut_until > around.now {
            return;
        }
        let due: Vec<_> = self.stale.iter().filter(|(_, at)| **at <= around.now).map(|(thing, _)| *thing).collect();
        self.stale.retain(|_, at| *at > around.now);
        for thing in due {
            if let Thing::Pod(index) = thing
                && around.random.one_in(2)
                && around.cluster.pods.get(&index).map(|pod| pod.key) != self.shown.get(&index).map(|pod| pod.key)
            {
                self.lose(index, around.now);
            }
            self.show(thing, around.cluster, around.now);
        }
    }

    pub(super) fn show(&mut self, thing: Thing, cluster: &Cluster, now: Time) {
        match thing {
            Thing::Owner(owner) => {
                let seen = cluster.owners[&owner];
                self.owners.insert(owner, seen);
                self.tell(now, Input::OwnerSeen { owner, seen });
            }
            Thing::Node(node) => {
                let state = cluster.nodes[&node];
                self.nodes.insert(node, state);
                self.tell(now, Input::NodeSeen { node, state });
            }
            Thing::Pod(index) => {
                let Some(pod) = cluster.pods.get(&index) else { return self.lose(index, now) };
                let is_new = self.shown.get(&index).is_none_or(|shown| shown.key != pod.key);
                let started = pod.started == Some(pod.incarnation);
                let remembered = (is_new && started).then_some(Remembered { started: true });
                self.shown.insert(index, pod.clone());
                self.reference.told_replica(pod, remembered.is_some());
                self.tell_pod(index, remembered, now);
            }
            Thing::Policy => self.show_policy(cluster, now),
        }
    }

    pub(super) fn show_policy(&mut self, cluster: &Cluster, now: Time) {
        let key = cluster.object.as_ref().map(|object| object.key);
        if self.policy != key {
            if let Some(policy) = self.policy.take() {
                self.tell(now, Input::PolicyRemoved { policy });
            }
            (self.policy, self.spec, self.history) = (key, None, History::default());
            self.version = cluster.object.as_ref().map_or(0, |object| object.status.version);
            self.reference.lost_policy();
        }
        match &cluster.object {
            Some(object) if object.is_valid => {
                self.spec = Some(object.spec.clone());
                self.tell(now, Input::PolicySet { policy: object.key, spec: Box::new(object.spec.clone()) });
                self.reference.told_policy(&object.spec);
            }
            Some(object) => self.tell(now, Input::PolicyInvalid { policy: object.key }),
            None => {}
        }
        for index in self.shown.keys().copied().collect::<Vec<_>>() {
            self.tell_pod(index, None, now);
        }
    }

    /// What the leader before had written down.
    pub(super) fn resume(&mut self, cluster: &Cluster, now: Time) {
        let Some((policy, spec)) = self.policy.zip(self.spec.clone()) else { return };
        let Some(Status { passed, seats, .. }) = cluster.object.as_ref().map(|object| object.status.clone()) else {
            return;
        };
        let question = |kind| spec.rule(kind).map(|rule| rule.question);
        let rules = PerRule::from_fn(|kind| passed[kind].is_some() && passed[kind] == question(kind));
        self.reference.ever_passed = rules;
        self.tell(now, Input::PassedBefore { policy, rules });
        for (seat, memory) in seats {
            let is_live = |key: &ReplicaKey| cluster.pod(*key).is_some_and(|pod| pod.lifecycle == Lifecycle::Live);
            let intent = memory.intent.map(|intent| Intent { replica: intent.replica.filter(is_live), ..intent });
            let memory = SeatMemory { intent, occupant: memory.occupant.filter(is_live), ..memory };
            self.tell(now, Input::SeatRestored { policy, seat, memory });
        }
    }

    pub(super) fn lose(&mut self, index: u32, now: Time) {
        if let Some(pod) = self.shown.remove(&index) {
            self.reference.told_gone(index);
            self.tell(now, Input::ReplicaGone { replica: pod.key });
        }
    }

    pub(super) fn tell_pod(&mut self, index: u32, remembered: Option<Remembered>, now: Time) {
        if let Some(pod) = self.shown.get(&index) {
            let seen = pod.seen(self.policy.filter(|_| pod.is_selected), remembered);
            self.tell(now, seen);
        }
    }
}
