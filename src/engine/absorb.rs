//! What an input changes. Nothing is decided here; who is to be looked at is put on the agendas.

use super::asking::Heard;
use super::ceiling::Rate;
use super::fleet::{Answered, Fleet, Fleets};
use super::hearing::Beaten;
use super::record::Recorder;
use super::replica::{Change, Replica};
use super::{
    AttemptId, DependencyAttempt, Engine, Evidence, Input, Observation, Outcome, PolicyKey, Reason, ReplicaKey,
    RuleKind, SeatKey, Time, TransitionKind, gate,
};

impl Engine {
    /// Takes a fact that became known at `at`.
    pub(super) fn absorb(&mut self, at: Time, input: Input, recorder: &mut Recorder<'_>) {
        match input {
            Input::Synced => self.synced = true,
            Input::PolicySet { policy, spec } => {
                self.pauses.extend(spec.paused_until.map(|until| (until, policy)));
                self.fleets.get_or_new(policy).set(spec);
                self.touch_fleet(policy);
                self.uncounted.insert(policy);
            }
            Input::PolicyInvalid { policy } => {
                self.fleets.get_or_new(policy);
                self.touch_fleet(policy);
            }
            Input::PolicyRemoved { policy } => {
                self.touch_fleet(policy);
                self.fleets.remove(policy);
            }
            Input::PassedBefore { policy, rules } => {
                let fleet = self.fleets.get_or_new(policy);
                for kind in RuleKind::ALL {
                    fleet.ever_passed[kind] |= rules[kind];
                }
            }
            Input::DependencyPassedBefore { policy, dependency } => {
                self.fleets.get_or_new(policy).dependencies.passed_before(dependency);
            }
            Input::BudgetRestored { policy, whole_at } => {
                self.fleets.get_or_new(policy).restarts.budget.restore(whole_at);
            }
            Input::StartupsRestored { policy, revision, times } => {
                self.fleets.get_or_new(policy).startups.restore(revision, times);
            }
            Input::SeatRestored { policy, seat, memory } => {
                self.fleets.get_or_new(policy).restore(seat, memory, at);
                self.fleet_agenda.touch(policy.0);
            }
            Input::ReplicaSeen { replica, seen } => self.see(replica, *seen, at),
            Input::ReplicaGone { replica } => self.forget(replica),
            Input::OwnerSeen { owner, seen } => {
                self.owners.insert(owner, seen);
                for (_, fleet) in self.fleets.iter_mut() {
                    fleet.count_desired(&self.owners);
                }
                self.touch_fleets();
            }
            Input::NodeSeen { node, state } => {
                self.nodes.insert(node, state);
                self.touch_fleets();
            }
            Input::Beat { replica } => self.beat(replica, at, recorder),
            Input::Deregistered { replica } => self.deregister(replica, at),
            Input::BeatBefore { policy } => self.fleets.get_or_new(policy).ever_beat = true,
            Input::Deaf { until } => {
                self.deaf_until = until;
                let listened_to = self.replicas.iter().flatten().filter(|replica| replica.pulse.is_some());
                listened_to.for_each(|replica| self.replica_agenda.touch(replica.key.index));
            }
            Input::AttemptFinished { attempt, outcome } => self.finish(attempt, outcome, at, recorder),
            Input::DependencyAnswered { attempt, outcome } => self.answered(attempt, outcome, at, recorder),
            Input::GateResult { replica, result } => {
                if let Some(writes) = &mut self.writes {
                    writes.answered();
                }
                if let Some(replica) = present(&mut self.replicas, replica) {
                    gate::wrote(replica, result, at, recorder);
                    if !replica.is_settled {
                        self.replica_agenda.touch(replica.key.index);
                    }
                }
            }
            Input::IntentResult { intent, result } => {
                let seat = self.seat(intent.replica);
                if let Some(fleet) = self.fleets.get_mut(intent.policy) {
                    fleet.intent_written(intent, seat, result);
                    self.fleet_agenda.touch(intent.policy.0);
                }
            }
            Input::RestartResult { policy, replica, result } => {
                let seat = self.seat(replica);
                if let Some(fleet) = self.fleets.get_mut(policy) {
                    if let Some(order) = fleet.restarted(replica, seat, result, at) {
                        recorder.record(Some(policy), replica, at, TransitionKind::Restarted, order.reason);
                    }
                    self.fleet_agenda.touch(policy.0);
                }
            }
        }
    }

    fn see(&mut self, key: ReplicaKey, seen: Observation, at: Time) {
        let stretch = self.stretch();
        let index = key.index as usize;
        if self.replicas.len() <= index {
            self.replicas.resize_with(index + 1, || None);
        }
        if let Some(old) = self.replicas[index].as_ref().filter(|old| old.key != key) {
            self.forget(old.key);
        }
        let policy = seen.policy;
        self.pauses.extend(seen.paused_until.zip(policy));
        let slot = &mut self.replicas[index];
        let mut edited_away = false;
        let change = match slot {
            Some(replica) => {
                match kept(&mut self.fleets, replica) {
                    Some((before, fleet)) if Some(before) != policy => {
                        edited_away = replica.reconciled_with.is_some_and(|(edition, _)| edition != fleet.edition);
                        fleet.leave(before, replica);
                        fleet.count_desired(&self.owners);
                        self.fleet_agenda.touch(before.0);
                    }
                    Some((_, fleet)) => fleet.look_away(replica),
                    None => {}
                }
                let change = replica.observe(seen, at);
                if edited_away {
                    replica.release = replica.release.map(|_| at);
                }
                change
            }
            None => {
                *slot = Some(Replica::new(key, seen, at));
                Change::Same
            }
        };
        if let (Some(replica), Some(policy)) = (slot, policy)
            && let Some(fleet) = self.fleets.get_mut(policy)
        {
            fleet.join(replica);
            fleet.count_desired(&self.owners);
            replica.reconcile(Some(fleet), stretch, at);
            if fleet.compare(policy, replica, at) {
                self.fleet_agenda.touch(policy.0);
            }
            if let Change::Replaced(stage) = change {
                fleet.replaced(replica, stage, at);
                self.fleet_agenda.touch(policy.0);
            }
        }
        self.replica_agenda.touch(key.index);
    }

    fn forget(&mut self, key: ReplicaKey) {
        let Some(slot) = self.replicas.get_mut(key.index as usize) else { return };
        let Some(mut gone) = slot.take_if(|replica| replica.key == key) else { return };
        if let Some(ceiling) = &mut self.ceiling {
            ceiling.count(&mut gone, Rate::default());
        }
        if let Some((policy, fleet)) = kept(&mut self.fleets, &gone) {
            fleet.leave(policy, &mut gone);
            fleet.count_desired(&self.owners);
            self.fleet_agenda.touch(policy.0);
        }
        self.replica_agenda.touch(key.index);
    }

    fn finish(&mut self, attempt: AttemptId, outcome: Outcome, at: Time, recorder: &mut Recorder<'_>) {
        let stretch = self.stretch();
        let Some(replica) = present(&mut self.replicas, attempt.replica) else { return };
        let Some((key, fleet)) = kept(&mut self.fleets, replica) else { return };
        // What was seen or edited since it began may have made the answer void.
        replica.reconcile(Some(fleet), stretch, at);
        let Some(spec) = &fleet.spec else { return };
        let mut is_first = false;
        if let Some(Heard { evidence: Evidence::Pass, starts, took }) = replica.finish(attempt, outcome, spec, at) {
            is_first = !std::mem::replace(&mut fleet.ever_passed[attempt.rule], true);
            if let Some(took) = took {
                fleet.startups.note(replica.seen.revision, took);
            }
            if starts {
                let reason = Reason::Passed { rule: attempt.rule, streak: 1 };
                recorder.record(Some(key), replica.key, at, TransitionKind::Started, reason);
            }
        }
        if replica.is_settled {
            self.replica_agenda.set(attempt.replica.index, replica.next_look());
        } else {
            self.replica_agenda.touch(attempt.replica.index);
            if fleet.compare(key, replica, at) {
                self.fleet_agenda.touch(key.0);
            }
        }
        if is_first {
            self.touch_fleet(key);
            self.uncounted.insert(key);
        }
    }

    fn answered(&mut self, attempt: DependencyAttempt, outcome: Outcome, at: Time, recorder: &mut Recorder<'_>) {
        let Some(fleet) = self.fleets.get_mut(attempt.policy) else { return };
        let Some(Answered { matters, tells }) = fleet.dependencies.finish(attempt, outcome, at) else { return };
        if let Some((kind, reason)) = tells {
            recorder.record_fleet(attempt.policy, at, kind, reason);
        }
        if matters {
            self.touch_fleet(attempt.policy);
        } else {
            self.fleet_agenda.touch(attempt.policy.0);
        }
    }

    fn beat(&mut self, key: ReplicaKey, at: Time, recorder: &mut Recorder<'_>) {
        let stretch = self.stretch();
        let Some(replica) = present(&mut self.replicas, key) else { return };
        let Some((policy, fleet)) = kept(&mut self.fleets, replica) else { return };
        replica.reconcile(Some(fleet), stretch, at);
        let Some(Beaten { starts }) = replica.beat(at) else { return };
        if starts {
            recorder.record(Some(policy), key, at, TransitionKind::Started, Reason::Beating);
        }
        if replica.is_settled {
            self.replica_agenda.set(key.index, replica.next_look());
        } else {
            self.replica_agenda.touch(key.index);
            if fleet.compare(policy, replica, at) {
                self.fleet_agenda.touch(policy.0);
            }
        }
        if !std::mem::replace(&mut fleet.ever_beat, true) {
            self.await_all(policy, at);
        }
    }

    /// The first beat of a policy makes silence count, so whoever has not beaten yet gets a whole time to live.
    fn await_all(&mut self, policy: PolicyKey, at: Time) {
        for index in self.fleets.get(policy).into_iter().flat_map(|fleet| fleet.members.iter()) {
            if let Some(Some(replica)) = self.replicas.get_mut(*index as usize) {
                replica.await_first(at);
            }
        }
        self.touch_fleet(policy);
    }

    fn deregister(&mut self, key: ReplicaKey, at: Time) {
        let stretch = self.stretch();
        let Some(replica) = present(&mut self.replicas, key) else { return };
        let Some((policy, fleet)) = kept(&mut self.fleets, replica) else { return };
        replica.reconcile(Some(fleet), stretch, at);
        replica.deregister();
        self.replica_agenda.touch(key.index);
        if fleet.compare(policy, replica, at) {
            self.fleet_agenda.touch(policy.0);
        }
    }

    /// Where a replica sits that is still there.
    fn seat(&mut self, replica: ReplicaKey) -> Option<SeatKey> {
        present(&mut self.replicas, replica)?.seat()
    }

    pub(super) fn touch_fleet(&mut self, policy: PolicyKey) {
        for index in self.fleets.get(policy).into_iter().flat_map(|fleet| fleet.members.iter()) {
            self.replica_agenda.touch(*index);
        }
        self.fleet_agenda.touch(policy.0);
    }

    fn touch_fleets(&mut self) {
        for (key, _) in self.fleets.iter_mut() {
            self.fleet_agenda.touch(key.0);
        }
    }
}

/// The policy that keeps a replica, and what it keeps.
fn kept<'a>(fleets: &'a mut Fleets, replica: &Replica) -> Option<(PolicyKey, &'a mut Fleet)> {
    replica.seen.policy.and_then(|key| Some((key, fleets.get_mut(key)?)))
}

pub(super) fn present(replicas: &mut [Option<Replica>], key: ReplicaKey) -> Option<&mut Replica> {
    replicas.get_mut(key.index as usize)?.as_mut().filter(|replica| replica.key == key)
}
