//! The decision engine: pure, deterministic, the same in every world.
//!
//! The world's loop has three steps:
//! 1. [`Engine::handle`] every fact as it arrives; that only records.
//! 2. [`Engine::poll`] once per instant; that decides over all that was recorded and says what to do.
//! 3. Carry the effects out, answer each with an input, and come back by [`Engine::next_poll`].
//!
//! From a fact to an effect: [`absorb`] notes what it changes, an [`agenda`] says who is to be looked at, [`asking`]
//! starts attempts and judges a [`replica`] by their outcomes, [`hearing`] takes its beats, [`gate`] admits and ejects,
//! [`fleet`] restarts, over the [`seat`]s that outlive the replicas. What a policy that observes would do is decided by
//! the same code, on what is [`foreseen`] of a replica and of its fleet. Every reason is a [`Reason`], every sentence is
//! its `Display`. A world in logical time that knows what attempts will come to can [`skip`](Engine::skip) those that
//! change nothing.
//!
//! # Live edits
//! A policy may change at any time. What happens, field by field, to what is under way:
//!
//! | field | streaks | attempt in flight | next attempt | restart that waits |
//! |---|---|---|---|---|
//! | handler, `container` | void; the verdict stays until the new question is answered, for readiness as [`OnPolicyChange`] says | void | due anew | void |
//! | `period` | kept | kept | on the new period, never before now | kept |
//! | `startupPeriod`, `fastPeriod` | kept | kept | on the new period, never before now | kept |
//! | `timeout` | kept | kept, under its old deadline | kept | kept |
//! | `initialDelay` | kept | kept | moved, if there was no attempt yet | kept |
//! | `failureThreshold`, `successThreshold`, `failureWindow` | kept, held against the new threshold at once | kept | kept | void if the streak is now below |
//! | a rule added | none yet; a container that was started stays started, one in the pool stays in until judged, for readiness as [`OnPolicyChange`] says | | due anew | |
//! | a rule removed | void | void | none | void |
//! | `heartbeat.timeToLive` | counts from the latest beat; one that is missing stays so until it beats | | | |
//! | `mode` to `Observe` | kept | kept | kept | void |
//! | `mode` to `Paused`, or a pause | void; the verdict stays | void | none until resumed | void |
//! | `restart`, `pool`, `fleet` | kept | kept | kept | looked at again under the new settings |
//!
//! A dependency that is asked something else begins anew: it has never passed. A restart that was already ordered is not
//! taken back by any edit.
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
mod capacity;
mod ceiling;
mod dependency;
mod dwell;
mod effect;
mod fleet;
mod foreseen;
mod gate;
mod hearing;
mod input;
mod judge;
mod keys;
mod obstacle;
mod outcome;
mod pause;
mod policy;
mod proof;
mod pulse;
mod reason;
mod rechecks;
mod record;
mod replica;
mod report;
mod schedule;
mod seat;
mod skip;
mod stance;
mod startups;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod time;
mod window;
mod would_have;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use agenda::Agenda;
use ceiling::Ceiling;
use fleet::{Fleet, Fleets, Look};
use rechecks::Rechecks;
use record::Recorder;
use replica::Replica;
use writes::Writes;

pub use capacity::{Capacity, Cause, Loss};
pub use ceiling::{Stretch, Stretched};
pub use dependency::{Dependency, DependencyAttempt, DependencyName, WhenDown};
pub use dwell::{DwellSettings, EjectionBackoff};
pub use effect::{Effect, FleetTransition, FleetTransitionKind, Transition, TransitionKind, Verdict};
pub use fleet::{Part, Trial};
pub use input::{
    Container, ContainerState, EffectResult, Gate, GateSeen, Input, Intent, IntentStage, Lifecycle, NodeState,
    Observation, Owner, OwnerKind, Place, Readiness, Refusal, Remembered, SeatMemory, Target, TargetProblem,
};
pub use keys::{
    AttemptId, Incarnation, IntentId, NodeKey, OwnerKey, PolicyKey, Question, ReplicaKey, RevisionKey, SeatKey, Slot,
    TransitionId,
};
pub use obstacle::{Among, Obstacle};
pub use outcome::{Evidence, Failure, Outcome, OutcomeClass};
pub use pause::Pause;
pub use policy::{
    Amount, Backoff, BreakerSettings, BudgetSettings, FleetSettings, FloorSettings, Heartbeat, Mode, OnPolicyChange,
    OtherOwners, PerRule, Phase, Policy, Pool, RestartMethod, RestartSettings, Rule, RuleKind, SharedFailure,
    WhenBelow,
};
pub use pulse::Presence;
pub use reason::Reason;
pub use report::{
    BreakerReport, BudgetReport, DependencyReport, DependencyState, FloorReport, HeartbeatReport, PERSISTENT_ERRORS,
    PartReport, PolicyReport, ReplicaReport, ReplicaState, RuleReport, SeatReport,
};
pub use startups::StartupTimes;
pub use time::{Span, Time};
pub use window::FailureWindow;
pub use would_have::WouldHave;

/// Room for so many facts is kept; at the beginning there are far more than ever after.
const HEARD_AT_ONCE: usize = 4_096;

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
    /// When policies or replicas of theirs go on by themselves, and how these stand is to be counted before any decision.
    pauses: BTreeSet<(Time, PolicyKey)>,
    rechecks: Rechecks,
    /// Beats until then may not have reached us.
    deaf_until: Time,
    ceiling: Option<Ceiling>,
    writes: Option<Writes>,
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

    /// The same, with at most so many attempts a second on average. Periods that ask for more are stretched.
    #[must_use]
    pub fn with_attempt_ceiling(self, per_second: NonZeroU32) -> Self {
        let ceiling = Ceiling::new(per_second);
        Self { rechecks: Rechecks::at_most(ceiling.rechecks()), ceiling: Some(ceiling), ..self }
    }

    /// The same, with at most so many writes of gates a second on average. Ejections go before all others.
    #[must_use]
    pub fn with_write_limit(self, per_second: NonZeroU32) -> Self {
        Self { writes: Some(Writes::at_most(per_second)), ..self }
    }

    /// The ceiling on attempts, while it stretches periods.
    pub fn stretched(&self) -> Option<Stretched> {
        self.ceiling.as_ref().and_then(Ceiling::stretched)
    }

    /// Records a fact that became known at `now`. Decides nothing.
    pub fn handle(&mut self, now: Time, input: Input) {
        self.inbox.push((now, input));
    }

    /// Decides over all that was recorded and appends what is to be done.
    pub fn poll(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let mut next_transition = self.next_transition;
        let mut recorder = Recorder::new(&mut next_transition, effects);
        let begins = !self.synced;
        let mut inbox = std::mem::take(&mut self.inbox);
        for (at, input) in inbox.drain(..) {
            self.absorb(at, input, &mut recorder);
        }
        if begins && self.synced {
            inbox.shrink_to(HEARD_AT_ONCE);
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

    /// When to poll next if nothing happens before; `None` before [`Input::Synced`].
    pub fn next_poll(&self) -> Option<Time> {
        [self.replica_agenda.first_at(), self.fleet_agenda.first_at()]
            .into_iter()
            .flatten()
            .min()
            .filter(|_| self.synced)
    }

    /// The same, and what for.
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

    /// What of a policy's fleet serves at `now`, and what costs it the rest; `None` for a policy it does not know.
    pub fn capacity(&self, policy: PolicyKey, now: Time) -> Option<Capacity> {
        let fleet = self.fleets.get(policy)?;
        Some(capacity::capacity(fleet, self.members(fleet), now))
    }

    /// What the engine holds of a policy and its replicas at `now`; `None` for a policy it does not know.
    pub fn report(&self, policy: PolicyKey, now: Time) -> Option<PolicyReport> {
        let fleet = self.fleets.get(policy)?;
        let report = report::report(policy, fleet, self.members(fleet), now);
        Some(PolicyReport { stretched: self.stretched(), ..report })
    }

    fn members<'a>(&'a self, fleet: &'a Fleet) -> impl Iterator<Item = &'a Replica> + Clone {
        fleet.members.iter().filter_map(|index| self.replicas.get(*index as usize)?.as_ref())
    }

    /// Fleets are looked at after all replicas, so that each of their decisions is over all that is known; and then the
    /// replicas whose gate depends on these decisions.
    fn decide(&mut self, now: Time, recorder: &mut Recorder<'_>) {
        while let Some((_, policy)) = self.pauses.first().copied().filter(|(until, _)| *until <= now) {
            self.pauses.pop_first();
            self.touch_fleet(policy);
            self.uncounted.insert(policy);
        }
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
            if !self.replica_agenda.is_touched() && !self.fit_ceiling() {
                return;
            }
        }
    }

    /// How much longer periods are than the policies say.
    fn stretch(&self) -> Stretch {
        self.ceiling.as_ref().map_or(Stretch::NONE, Ceiling::stretch)
    }

    /// Stretches periods by what the rules ask for now; says whether that is to be told to every replica.
    fn fit_ceiling(&mut self) -> bool {
        let changes = self.ceiling.as_mut().is_some_and(Ceiling::fit);
        if changes {
            for replica in self.replicas.iter().flatten() {
                self.replica_agenda.touch(replica.key.index);
            }
        }
        changes
    }

    /// Counts how all replicas of a policy stand, before any of them is decided on.
    fn count_anew(&mut self, policy: PolicyKey, now: Time) {
        let stretch = self.stretch();
        let Some(fleet) = self.fleets.get_mut(policy) else { return };
        for index in fleet.members.clone() {
            let Some(Some(replica)) = self.replicas.get_mut(index as usize) else { continue };
            replica.catch_up(Some(fleet), stretch, self.deaf_until, now);
            fleet.compare(policy, replica, now);
        }
    }

    fn step_replica(&mut self, index: u32, now: Time, recorder: &mut Recorder<'_>) -> Option<Time> {
        let stretch = self.stretch();
        let replica = self.replicas.get_mut(index as usize)?.as_mut()?;
        let key = replica.seen.policy;
        let mut fleet = key.and_then(|key| self.fleets.get_mut(key));
        replica.catch_up(fleet.as_deref(), stretch, self.deaf_until, now);
        if let Some((key, fleet)) = key.zip(fleet.as_deref_mut())
            && !replica.is_settled
            && fleet.compare(key, replica, now)
        {
            self.fleet_agenda.touch(key.0);
        }
        if let (Some(key), Some(spec)) = (key, fleet.as_ref().and_then(|fleet| fleet.spec.as_ref())) {
            replica.ask(key, spec, &mut self.rechecks, now, recorder.effects());
        }
        if let Some(ceiling) = self.ceiling.as_mut().filter(|_| !replica.is_settled) {
            let rate = replica.asks_at(fleet.as_ref().and_then(|fleet| fleet.spec.as_deref()));
            ceiling.count(replica, rate);
        }
        if !replica.is_settled {
            gate::step(replica, key, fleet.as_deref(), self.writes.as_mut(), now, recorder);
            if let (Some(key), Some(fleet)) = (key, fleet) {
                fleet.foresee_gate(key, replica, now, recorder);
                // Whom the floor let in though an ejection lasted is ready from then on, for whoever is looked at next.
                if fleet.dwells() && fleet.compare(key, replica, now) {
                    self.fleet_agenda.touch(key.0);
                }
                if fleet.questions_dependencies(replica) {
                    self.fleet_agenda.touch(key.0);
                }
                let followed = fleet.follows(replica);
                fleet.note(replica, now);
                if followed || fleet.follows(replica) {
                    self.fleet_agenda.touch(key.0);
                }
                replica.is_settled = fleet.spec.is_some() && gate::is_settled(replica);
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
