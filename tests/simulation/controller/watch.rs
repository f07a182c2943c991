//! What a controller is shown of the cluster, late and collapsed, and what it resumes from.

use probe_policy::engine::{Input, Intent, Lifecycle, PerRule, Policy, Remembered, ReplicaKey, SeatMemory, Time};

use super::super::cluster::{Cluster, Pod, Status, Thing};
use super::super::invariants::History;
use super::super::reference::Word;
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
                // Whoever pauses a pod goes by the clock of the controller that sees it.
                let paused_until = pod.paused_until.map(|until| self.time(until));
                self.shown.insert(index, Pod { paused_until, ..pod.clone() });
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
                let paused_until = object.spec.paused_until.map(|until| self.time(until));
                let spec = Policy { paused_until, ..object.spec.clone() };
                self.reference.told_policy(&spec);
                self.tell(now, Input::PolicySet { policy: object.key, spec: Box::new(spec.clone()) });
                self.spec = Some(spec);
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
        let Some(Status { passed, seats, beaten, dependencies, whole_at, .. }) =
            cluster.object.as_ref().map(|object| object.status.clone())
        else {
            return;
        };
        let question = |kind| spec.rule(kind).map(|rule| rule.question);
        let rules = PerRule::from_fn(|kind| passed[kind].is_some() && passed[kind] == question(kind));
        self.reference.ever_passed = rules;
        self.tell(now, Input::PassedBefore { policy, rules });
        if let Some(whole_at) = whole_at {
            self.tell(now, Input::BudgetRestored { policy, whole_at });
        }
        if beaten && spec.heartbeat.is_some() {
            self.reference.ever_beat = true;
            self.tell(now, Input::BeatBefore { policy });
        }
        for dependency in &spec.dependencies {
            if dependencies.get(&dependency.name) == Some(&dependency.rule.question) {
                self.reference.dependencies.passed_before(dependency.name);
                self.tell(now, Input::DependencyPassedBefore { policy, dependency: dependency.name });
            }
        }
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
            let heartbeat = self.spec.as_ref().and_then(|spec| spec.heartbeat);
            self.reference.seen(index, self.spec.as_ref().filter(|_| pod.is_selected));
            let seen = pod.seen(self.policy.filter(|_| pod.is_selected), heartbeat, remembered);
            self.tell(now, seen);
        }
    }

    /// Until then nothing is shown and no beat is heard.
    pub fn cut(&mut self, until: Time, now: Time) {
        self.cut_until = until;
        self.is_deaf = true;
        self.deafen(until, now);
    }

    /// The process stands still until then.
    pub fn freeze(&mut self, until: Time) {
        self.frozen_until = until;
        self.is_deaf = true;
    }

    /// A pod says that it is there, or that it goes; not all of it arrives.
    pub fn hear_by_itself(&mut self, replica: ReplicaKey, word: Word, now: Time) {
        if self.is_deaf {
            return;
        }
        let pod = self.shown.get(&replica.index).filter(|pod| pod.key == replica);
        let Some(pod) = pod else { return };
        let spec = self.spec.as_ref().filter(|_| pod.is_selected);
        self.reference.heard_by_itself(word, spec, pod, now + self.ahead);
        self.tell(
            now,
            match word {
                Word::Beat => Input::Beat { replica },
                Word::Goes => Input::Deregistered { replica },
            },
        );
    }

    /// What it could not hear until now it has not missed.
    pub(super) fn hear_again(&mut self, now: Time) {
        if self.is_deaf && self.cut_until <= now {
            self.is_deaf = false;
            self.deafen(now, now);
        }
    }

    fn deafen(&mut self, until: Time, now: Time) {
        let until = self.time(until);
        self.reference.deaf_until = until;
        self.tell(now, Input::Deaf { until });
    }
}
