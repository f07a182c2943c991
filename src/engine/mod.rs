//! The decision engine: pure, deterministic, the same in every world.
//!
//! The world's loop has three steps:
//! 1. [`Engine::handle`] every fact as it arrives; that only records.
//! 2. [`Engine::poll`] once per instant; that decides over all that was recorded and says what to do.
//! 3. Carry the effects out, answer each with an input, and come back by [`Engine::next_deadline`].
//!
//! From a fact to an effect: [`absorb`] notes what it changes, an [`agenda`] says who is to be looked at, [`asking`]
//! starts attempts and judges a [`replica`] by their outcomes, [`gate`] admits and ejects, [`fleet`] restarts, over the
//! [`seat`]s that outlive the replicas. Every reason is a [`Reason`], every sentence is its `Display`. A world in logical
//! time that knows what attempts will come to can [`skip`](Engine::skip) those that change nothing.
//!
//! # Live edits
//! A policy may change at any time. What happens, field by field, to what is under way:
//!
//! | field | streaks | attempt in flight | next attempt | restart that waits |
//! |---|---|---|---|---|
//! | handler, `container` | void; the verdict stays until the new question is answered | void | due anew | void |
//! | `period` | kept | kept | on the new period, never before now | kept |
//! | `startupPeriod`, `fastPeriod` | kept | kept | on the new period, never before now | kept |
//! | `timeout` | kept | kept, under its old deadline | kept | kept |
//! | `initialDelay` | kept | kept | moved, if there was no attempt yet | kept |
//! | `failureThreshold`, `successThreshold` | kept, held against the new threshold at once | kept | kept | void if the streak is now below |
//! | a rule added | none yet; a container that was started stays started, one in the pool stays in until judged | | due anew | |
//! | a rule removed | void | void | none | void |
//! | `mode` to `Observe` | kept | kept | kept | void |
//! | `mode` to `Paused` | void; the verdict stays | void | none until resumed | void |
//! | `restart`, `pool`, `fleet` | kept | kept | kept | looked at again under the new settings |
//!
//! A restart that was already ordered is not taken back by any edit.
//!
//! # The observer may be the sick one
//! Whoever polls late was frozen or starved, and the engine makes up for nothing: an attempt that should have begun more
//! than a second ago is left out and the next one is on the grid, an answer that is heard five seconds after its deadline
//! is our own error, and what an earlier engine wrote down lies behind us, whatever its clock said. Time is the world's
//! monotonic line.
//!
//! `tests/simulation` is the engine in a hostile world, beside a naive model of it.

mod absorb;
mod agenda;
mod asking;
mod effect;
mod fleet;
mod gate;
mod input;
mod judge;
mod keys;
mod outcome;
mod policy;
mod reason;
mod rechecks;
mod record;
mod replica;
mod report;
mod schedule;
mod seat;
mod skip;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod time;

use std::collections::{BTreeMap, BTreeSet};

use agenda::Agenda;
use fleet::{Fleets, Look};
use rechecks::Rechecks;
use record::Recorder;
use replica::Replica;

pub use effect::{Effect, FleetTransition, FleetTransitionKind, Transition, TransitionKind, Verdict};
pub use fleet::Trial;
pub use input::{
    Container, ContainerState, EffectResult, Gate, GateSeen, Input, Intent, IntentStage, Lifecycle, NodeState,
    Observation, Owner, OwnerKind, Place, Readiness, Refusal, Remembered, SeatMemory, Target, TargetProblem,
};
pub use keys::{
    AttemptId, Incarnation, NodeKey, OwnerKey, PolicyKey, Question, ReplicaKey, SeatKey, Slot, TransitionId,
};
pub use outcome::{Evidence, Outcome, OutcomeClass};
pub use policy::{
    Amount, Backoff, BreakerSettings, FleetSettings, FloorSettings, Mode, OtherOwners, PerRule, Phase, Policy, Pool,
    RestartMethod, RestartSettings, Rule, RuleKind, SharedFailure, WhenBelow,
};
pub use reason::{Obstacle, Reason};
pub use report::{BreakerReport, FloorReport, PolicyReport, ReplicaReport, ReplicaState, RuleReport, SeatReport};
pub use time::{Span, Time};

/// The decision engine.
#[derive(Debug, Default)]
pub struct Engine {
    inbox: Vec<(Time, Input)>,
    synced: bool,
    fleets: Fleets,
    replicas: Vec<Option<Replica>>,
    owners: BTreeMap<OwnerKey, Owner>,
    nodes: BTreeMap<NodeKey, NodeState>,
    /// Which replicas are to be looked at, by the index of their key.
    replica_agenda: Agenda,
    /// Which fleets, by the number of their policy's key.
    fleet_agenda: Agenda,
    /// The policies under which every replica may stand otherwise than it was counted.
    uncounted: BTreeSet<PolicyKey>,
    rechecks: Rechecks,
    next_transition: u64,
}

impl Engine {
    /// An engine that knows nothing and decides nothing before [`Input::Synced`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with room for so many replicas and for what is to be told of them at first. There may be more.
    pub fn with_room_for(replicas: usize) -> Self {
        Self {
            inbox: Vec::with_capacity(replicas + 8),
            replicas: Vec::with_capacity(replicas),
            replica_agenda: Agenda::with_room_for(replicas),
            ..Self::default()
        }
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
            self.decide(now, &mut recorder);
        }
        self.next_transition = next_transition;
    }

    /// Whether nothing was recorded since the last poll, so that another at the same instant would do nothing.
    pub fn is_up_to_date(&self) -> bool {
        self.inbox.is_empty()
    }

    /// When to poll next if nothing happens before, and what for; `None` before [`Input::Synced`].
    pub fn next_deadline(&self) -> Option<(Time, &'static str)> {
        if !self.synced {
            return None;
        }
        let replica = self.replica_agenda.first();
        let fleet = self.fleet_agenda.first();
        match (replica, fleet) {
            (Some((at, index)), fleet) if fleet.is_none_or(|(before, _)| at <= before) => {
                self.replicas.get(index as usize)?.as_ref()?.next_wake()
            }
            (_, Some((_, key))) => self.fleets.get(PolicyKey(key))?.wake,
            (_, None) => None,
        }
    }

    /// What the engine holds of a policy and its replicas at `now`; `None` for a policy it does not know.
    pub fn report(&self, policy: PolicyKey, now: Time) -> Option<PolicyReport> {
        let fleet = self.fleets.get(policy)?;
        let members = fleet.members.iter().filter_map(|index| self.replicas.get(*index as usize)?.as_ref());
        Some(report::report(policy, fleet, members, now))
    }

    /// Fleets are looked at after all replicas, so that each of their decisions is over all that is known; and then the
    /// replicas whose gate depends on these decisions.
    fn decide(&mut self, now: Time, recorder: &mut Recorder<'_>) {
        while let Some(policy) = self.uncounted.pop_first() {
            self.count_anew(policy, now);
        }
        loop {
            let mut from = 0;
            while let Some(index) = self.replica_agenda.next(from, now) {
                let wake = self.step_replica(index, now, recorder);
                self.replica_agenda.set(index, wake);
                from = index + 1;
            }
            let mut from = 0;
            while let Some(key) = self.fleet_agenda.next(from, now) {
                let wake = self.step_fleet(PolicyKey(key), now, recorder);
                self.fleet_agenda.set(key, wake);
                from = key + 1;
            }
            if !self.replica_agenda.is_touched() {
                return;
            }
        }
    }

    /// Counts how all replicas of a policy stand, before any of them is decided on.
    fn count_anew(&mut self, policy: PolicyKey, now: Time) {
        let Some(fleet) = self.fleets.get_mut(policy) else { return };
        for index in fleet.members.clone() {
            if let Some(Some(replica)) = self.replicas.get_mut(index as usize) {
                replica.reconcile(Some(fleet), now);
                fleet.compare(policy, replica);
            }
        }
    }

    fn step_replica(&mut self, index: u32, now: Time, recorder: &mut Recorder<'_>) -> Option<Time> {
        let replica = self.replicas.get_mut(index as usize)?.as_mut()?;
        let key = replica.seen.policy;
        let mut fleet = key.and_then(|key| self.fleets.get_mut(key));
        replica.reconcile(fleet.as_deref(), now);
        if let Some((key, fleet)) = key.zip(fleet.as_deref_mut())
            && !replica.is_settled
            && fleet.compare(key, replica)
        {
            self.fleet_agenda.touch(key.0);
        }
        if let (Some(key), Some(spec)) = (key, fleet.as_ref().and_then(|fleet| fleet.spec.as_ref())) {
            replica.ask(key, spec, &mut self.rechecks, now, recorder.effects());
        }
        if !replica.is_settled {
            gate::step(replica, key, fleet.as_deref(), now, recorder);
            if let (Some(key), Some(fleet)) = (key, fleet) {
                let followed = fleet.follows(replica);
                fleet.note(replica, now);
                if followed || fleet.follows(replica) {
                    self.fleet_agenda.touch(key.0);
                }
                replica.is_settled = fleet.spec.is_some() && replica.gate.is_settled();
            }
        }
        replica.next_look()
    }

    fn step_fleet(&mut self, key: PolicyKey, now: Time, recorder: &mut Recorder<'_>) -> Option<Time> {
        let fleet = self.fleets.get_mut(key)?;
        let (owners, nodes) = (&self.owners, &self.nodes);
        let replica_agenda = &mut self.replica_agenda;
        fleet.step(&mut Look { key, now, replicas: &mut self.replicas, owners, nodes, replica_agenda, recorder });
        fleet.wake.map(|(at, _)| at)
    }
}
