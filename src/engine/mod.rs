//! The decision engine: pure, deterministic, the same in every world.
//!
//! The world's loop has three steps:
//! 1. [`Engine::handle`] every fact as it arrives; that only records.
//! 2. [`Engine::poll`] once per instant; that decides over all that was recorded and says what to do.
//! 3. Carry the effects out, answer each with an input, and come back by [`Engine::next_deadline`].
//!
//! From a fact to an effect: [`replica`] asks and judges, [`gate`] admits and ejects, [`fleet`] restarts, over the
//! [`seat`]s that outlive the replicas. Every reason is a [`Reason`], every sentence is its `Display`.
//!
//! # Live edits
//! A policy may change at any time. What happens, field by field, to what is under way:
//!
//! | field | streaks | attempt in flight | next attempt | restart that waits |
//! |---|---|---|---|---|
//! | handler, `container` | void; the verdict stays until the new question is answered | void | due anew | void |
//! | `period` | kept | kept | on the new period, never before now | kept |
//! | `timeout` | kept | kept, under its old deadline | kept | kept |
//! | `initialDelay` | kept | kept | moved, if there was no attempt yet | kept |
//! | `failureThreshold`, `successThreshold` | kept, held against the new threshold at once | kept | kept | void if the streak is now below |
//! | a rule added | none yet; a container that was started stays started, one in the pool stays in until judged | | due anew | |
//! | a rule removed | void | void | none | void |
//! | `mode` to `Observe` | kept | kept | kept | void |
//! | `mode` to `Paused` | void; the verdict stays | void | none until resumed | void |
//! | `restart`, `pool` | kept | kept | kept | looked at again under the new settings |
//!
//! A restart that was already ordered is not taken back by any edit.

mod effect;
mod fleet;
mod gate;
mod input;
mod judge;
mod keys;
mod outcome;
mod policy;
mod reason;
mod record;
mod replica;
mod report;
mod schedule;
mod seat;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use fleet::{Fleet, Surroundings};
use record::Recorder;
use replica::{Change, Replica};

pub use effect::{Effect, Transition, TransitionKind, Verdict};
pub use input::{
    Container, ContainerState, EffectResult, Gate, GateSeen, Input, Intent, IntentStage, Lifecycle, NodeState,
    Observation, Owner, OwnerKind, Place, Readiness, Refusal, Remembered, SeatMemory, Target, TargetProblem,
};
pub use keys::{
    AttemptId, Incarnation, NodeKey, OwnerKey, PolicyKey, Question, ReplicaKey, SeatKey, Slot, TransitionId,
};
pub use outcome::{Evidence, Outcome, OutcomeClass};
pub use policy::{
    Amount, Backoff, Mode, OtherOwners, PerRule, Phase, Policy, Pool, RestartMethod, RestartSettings, Rule, RuleKind,
};
pub use reason::{Obstacle, Reason};
pub use report::{PolicyReport, ReplicaReport, ReplicaState, RuleReport, SeatReport};
pub use time::{Span, Time};

/// The decision engine.
#[derive(Debug, Default)]
pub struct Engine {
    inbox: Vec<(Time, Input)>,
    synced: bool,
    fleets: BTreeMap<PolicyKey, Fleet>,
    replicas: Vec<Option<Replica>>,
    owners: BTreeMap<OwnerKey, Owner>,
    nodes: BTreeMap<NodeKey, NodeState>,
    wakes: Wakes,
    /// What the inputs since the last poll were about.
    touched: BTreeSet<Subject>,
    next_transition: u64,
}

/// What can be due: a replica (by index) or a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Replica(u32),
    Fleet(PolicyKey),
}

/// One wake-up for each subject that needs one, earliest first.
#[derive(Debug, Default)]
struct Wakes {
    queue: BTreeSet<(Time, Subject)>,
    of: BTreeMap<Subject, (Time, &'static str)>,
}

impl Engine {
    /// An engine that knows nothing and decides nothing before [`Input::Synced`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a fact that became known at `now`. Decides nothing.
    pub fn handle(&mut self, now: Time, input: Input) {
        self.inbox.push((now, input));
    }

    /// Decides over all that was recorded and appends what is to be done.
    pub fn poll(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let mut next_transition = self.next_transition;
        let mut recorder = Recorder::new(&mut next_transition, effects);
        let mut inbox = std::mem::take(&mut self.inbox);
        for (at, input) in inbox.drain(..) {
            self.absorb(at, input, &mut recorder);
        }
        self.inbox = inbox;
        if self.synced {
            self.touched.extend(self.wakes.due(now));
            self.decide(now, &mut recorder);
        }
        self.next_transition = next_transition;
    }

    /// When to poll next if nothing happens before, and what for.
    pub fn next_deadline(&self) -> Option<(Time, &'static str)> {
        let (_, subject) = self.wakes.queue.first()?;
        self.wakes.of.get(subject).copied()
    }

    /// What the engine holds of a policy and its replicas at `now`; `None` for a policy it does not know.
    pub fn report(&self, policy: PolicyKey, now: Time) -> Option<PolicyReport> {
        let fleet = self.fleets.get(&policy)?;
        let members = fleet.members.iter().filter_map(|index| self.replicas.get(*index as usize)?.as_ref());
        Some(report::report(policy, fleet, members, now))
    }

    fn decide(&mut self, now: Time, recorder: &mut Recorder<'_>) {
        while let Some(subject) = self.touched.pop_first() {
            let wake = match subject {
                Subject::Replica(index) => self.step_replica(index, now, recorder),
                Subject::Fleet(key) => self.step_fleet(key, now, recorder),
            };
            self.wakes.set(subject, wake);
        }
    }

    /// Replicas come before fleets in the order of subjects, so that a fleet is looked at once, after all its replicas.
    fn step_replica(&mut self, index: u32, now: Time, recorder: &mut Recorder<'_>) -> Option<(Time, &'static str)> {
        let replica = self.replicas.get_mut(index as usize)?.as_mut()?;
        let key = replica.seen.policy;
        let mut fleet = key.and_then(|key| self.fleets.get_mut(&key));
        let spec = fleet.as_ref().and_then(|fleet| fleet.spec.as_ref());
        replica.reconcile(spec, now);
        if let (Some(key), Some(spec)) = (key, spec) {
            replica.ask(key, spec, now, recorder.effects());
        }
        gate::step(replica, key, fleet.as_deref(), now, recorder);
        if let (Some(key), Some(fleet)) = (key, fleet.as_mut()) {
            fleet.note(replica, now);
            self.touched.insert(Subject::Fleet(key));
        }
        replica.next_wake()
    }

    fn step_fleet(&mut self, key: PolicyKey, now: Time, recorder: &mut Recorder<'_>) -> Option<(Time, &'static str)> {
        let fleet = self.fleets.get_mut(&key)?;
        let mut around = Surroundings { replicas: &mut self.replicas, owners: &self.owners, nodes: &self.nodes };
        fleet.step(key, now, &mut around, recorder);
        fleet.next_wake(now, &self.replicas)
    }

    fn absorb(&mut self, at: Time, input: Input, recorder: &mut Recorder<'_>) {
        match input {
            Input::Synced => self.synced = true,
            Input::PolicySet { policy, spec } => {
                self.fleets.entry(policy).or_default().set(*spec);
                self.touch_fleet(policy);
            }
            Input::PolicyInvalid { policy } => {
                self.fleets.entry(policy).or_default();
                self.touch_fleet(policy);
            }
            Input::PolicyRemoved { policy } => {
                self.touch_fleet(policy);
                self.fleets.remove(&policy);
            }
            Input::PassedBefore { policy, rules } => {
                let fleet = self.fleets.entry(policy).or_default();
                for kind in RuleKind::ALL {
                    fleet.ever_passed[kind] |= rules[kind];
                }
            }
            Input::SeatRestored { policy, seat, memory } => {
                self.fleets.entry(policy).or_default().restore(seat, memory);
                self.touched.insert(Subject::Fleet(policy));
            }
            Input::ReplicaSeen { replica, seen } => self.see(replica, *seen, at),
            Input::ReplicaGone { replica } => self.forget(replica),
            Input::OwnerSeen { owner, seen } => {
                self.owners.insert(owner, seen);
                self.touched.extend(self.fleets.keys().copied().map(Subject::Fleet));
            }
            Input::NodeSeen { node, state } => {
                self.nodes.insert(node, state);
                self.touched.extend(self.fleets.keys().copied().map(Subject::Fleet));
            }
            Input::AttemptFinished { attempt, outcome } => self.finish(attempt, outcome, at, recorder),
            Input::GateResult { replica, result } => {
                if let Some(replica) = present(&mut self.replicas, replica) {
                    gate::wrote(replica, result, at, recorder);
                    self.touched.insert(Subject::Replica(replica.key.index));
                }
            }
            Input::IntentResult { replica, result } => {
                for (key, fleet) in &mut self.fleets {
                    fleet.intent_written(replica, result);
                    self.touched.insert(Subject::Fleet(*key));
                }
            }
            Input::RestartResult { replica, result } => {
                for (key, fleet) in &mut self.fleets {
                    fleet.restarted(*key, replica, result, at, recorder);
                    self.touched.insert(Subject::Fleet(*key));
                }
            }
        }
    }

    fn see(&mut self, key: ReplicaKey, seen: Observation, at: Time) {
        let index = key.index as usize;
        if self.replicas.len() <= index {
            self.replicas.resize_with(index + 1, || None);
        }
        if let Some(old) = self.replicas[index].as_ref().filter(|old| old.key != key) {
            self.forget(old.key);
        }
        let policy = seen.policy;
        let (mut replica, change) = match self.replicas[index].take() {
            Some(mut replica) => {
                let before = replica.seen.policy;
                let change = replica.observe(seen, at);
                if before != policy
                    && let Some(fleet) = before.and_then(|before| self.fleets.get_mut(&before))
                {
                    fleet.leave(key);
                }
                (replica, change)
            }
            None => (Replica::new(key, seen, at), Change::Same),
        };
        if let Some(fleet) = policy.and_then(|policy| self.fleets.get_mut(&policy)) {
            if fleet.members.insert(key.index) {
                fleet.seat(&mut replica);
            }
            if change == Change::Replaced {
                fleet.replaced(&mut replica, at);
            }
        }
        self.replicas[index] = Some(replica);
        self.touched.insert(Subject::Replica(key.index));
    }

    fn forget(&mut self, key: ReplicaKey) {
        let Some(slot) = self.replicas.get_mut(key.index as usize) else { return };
        let Some(gone) = slot.take_if(|replica| replica.key == key) else { return };
        if let Some((policy, fleet)) = gone.seen.policy.and_then(|key| Some((key, self.fleets.get_mut(&key)?))) {
            fleet.leave(key);
            self.touched.insert(Subject::Fleet(policy));
        }
        self.touched.insert(Subject::Replica(key.index));
    }

    fn finish(&mut self, attempt: AttemptId, outcome: Outcome, at: Time, recorder: &mut Recorder<'_>) {
        let Some(replica) = present(&mut self.replicas, attempt.replica) else { return };
        let Some((key, fleet)) = replica.seen.policy.and_then(|key| Some((key, self.fleets.get_mut(&key)?))) else {
            return;
        };
        let Some(spec) = &fleet.spec else { return };
        let was_started = replica.is_started();
        if replica.finish(attempt, outcome, spec, at) == Some(Evidence::Pass) {
            fleet.ever_passed[attempt.rule] = true;
            if !was_started && replica.is_started() {
                let reason = Reason::Passed { rule: attempt.rule, streak: 1 };
                recorder.record(Some(key), replica.key, at, TransitionKind::Started, reason);
            }
        }
        self.touched.insert(Subject::Replica(attempt.replica.index));
    }

    fn touch_fleet(&mut self, policy: PolicyKey) {
        let members = self.fleets.get(&policy).into_iter().flat_map(|fleet| fleet.members.iter());
        self.touched.extend(members.copied().map(Subject::Replica));
        self.touched.insert(Subject::Fleet(policy));
    }
}

impl Wakes {
    fn set(&mut self, subject: Subject, wake: Option<(Time, &'static str)>) {
        if let Some((at, _)) = self.of.remove(&subject) {
            self.queue.remove(&(at, subject));
        }
        if let Some((at, why)) = wake {
            self.queue.insert((at, subject));
            self.of.insert(subject, (at, why));
        }
    }

    fn due(&self, now: Time) -> impl Iterator<Item = Subject> {
        self.queue.iter().take_while(move |(at, _)| *at <= now).map(|(_, subject)| *subject)
    }
}

fn present(replicas: &mut [Option<Replica>], key: ReplicaKey) -> Option<&mut Replica> {
    replicas.get_mut(key.index as usize)?.as_mut().filter(|replica| replica.key == key)
}
