//! The replicas that one policy keeps: who they are, where they sit, and which of them are to be restarted.

mod breaker;
mod breakers;
mod budget;
mod dependencies;
mod floor;
mod foresight;
mod headcount;
mod judged;
mod obstacle;
mod restart;
mod rolling;
mod seating;
mod seats;
mod standings;
mod supervise;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use super::agenda::{Agenda, Wake};
use super::record::Recorder;
use super::replica::Replica;
use super::seat::{Order, StageOfLife};
use super::startups::Startups;
use super::{
    Among, BudgetSettings, Failure, FleetSettings, Mode, NodeKey, NodeState, Obstacle, OnPolicyChange, OutcomeClass,
    Owner, OwnerKey, Pause, PerRule, Policy, PolicyKey, ReplicaKey, RuleKind, SharedFailure, Time, WhenBelow, gate,
};
use breakers::Breakers;
use foresight::Foresight;
use headcount::Headcount;
use judged::{Kin, Sign, Tally};
use restart::Orders;
use seats::Seats;
use standings::{Latest, Standings};

pub(super) use breaker::Breaker;
pub use breaker::Trial;
pub use breakers::Part;
pub(super) use budget::Budget;
pub(super) use dependencies::Answered;
use dependencies::Dependencies;
pub(super) use floor::{Floor, Stand};
pub(super) use standings::Compared;
pub(super) use table::Fleets;

/// One policy and what it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet {
    /// The last valid spec.
    pub(super) spec: Option<Box<Policy>>,
    /// Counts the specs.
    pub(super) edition: Edition,
    /// The rules that somebody has passed under their present question.
    pub(super) ever_passed: PerRule<bool>,
    /// Somebody has beaten under the heartbeat rule.
    pub(super) ever_beat: bool,
    /// The replicas, by index.
    pub(super) members: BTreeSet<u32>,
    /// The seats that remember something.
    pub(super) seats: Seats,
    pub(super) restarts: Restarts,
    /// How long its replicas took to start.
    pub(super) startups: Startups,
    /// When it is to be looked at though nothing happened, and what for.
    pub(super) wake: Option<(Time, &'static str)>,
    pub(super) breakers: Breakers,
    pub(super) floor: Floor,
    pub(super) dependencies: Dependencies,
    /// Whether most replicas failed together when it was last looked at; only with a heartbeat rule, since whoever is
    /// asked looks by itself again.
    fails_together: bool,
    /// What it would have done; only while its policy observes.
    pub(super) foresight: Option<Box<Foresight>>,
    headcount: Headcount,
    /// How many replicas the owners want in all.
    desired: u32,
    /// How its replicas stand with the rules that are compared.
    standings: Standings,
    /// The replicas whose rules ask for a restart: since when, and which rule.
    wanting: BTreeMap<u32, (Time, RuleKind)>,
    next_nth: u32,
}

/// Which spec of a fleet; the first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edition(u32);

/// Restarts carried out since the engine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Restarts {
    pub(super) total: u32,
    pub(super) in_startup: u32,
    pub(super) futile: u32,
    /// What they have spent, and those before.
    pub(super) budget: Budget,
}

/// One look at a fleet, and what surrounds it.
pub(super) struct Look<'a, 'r> {
    /// The policy.
    pub(super) key: PolicyKey,
    pub(super) now: Time,
    pub(super) replicas: &'a mut [Option<Replica>],
    pub(super) owners: &'a BTreeMap<OwnerKey, Owner>,
    pub(super) nodes: &'a BTreeMap<NodeKey, NodeState>,
    /// Where those are put whose gate depends on what is decided.
    pub(super) replica_agenda: &'a mut Agenda,
    pub(super) recorder: &'a mut Recorder<'r>,
}

impl Fleet {
    /// Takes a newer spec. A rule that asks something else has been passed by nobody yet.
    pub(super) fn set(&mut self, spec: Box<Policy>) {
        for kind in RuleKind::ALL {
            let asked = |policy: &Policy| policy.rule(kind).map(|rule| rule.question);
            self.ever_passed[kind] &= self.spec.as_ref().is_none_or(|old| asked(old) == asked(&spec));
        }
        self.ever_beat &= spec.heartbeat.is_some();
        self.dependencies.set(&spec.dependencies);
        self.foresee_under(&spec);
        self.spec = Some(spec);
        self.seats.open_all();
        self.edition.0 = self.edition.0.wrapping_add(1);
    }

    /// A replica that it keeps was seen, for the first time or again.
    pub(super) fn join(&mut self, replica: &mut Replica) {
        self.headcount.add(&replica.seen);
        if self.members.insert(replica.key.index) {
            self.seat(replica);
        }
    }

    /// A replica will be seen again, perhaps as something else.
    pub(super) fn look_away(&mut self, replica: &Replica) {
        if self.members.contains(&replica.key.index) {
            self.headcount.subtract(&replica.seen);
        }
    }

    /// A replica is gone, or kept by another policy.
    pub(super) fn leave(&mut self, key: PolicyKey, replica: &mut Replica) {
        self.look_away(replica);
        self.members.remove(&replica.key.index);
        let counted = std::mem::take(&mut replica.compared);
        self.standings.change(counted.in_fleet(key), Latest::default());
        self.wanting.remove(&replica.key.index);
        self.seats.vacate(replica.key);
        replica.stand_up();
        if let Some(foresight) = &mut self.foresight {
            foresight.seats.vacate(replica.key);
        }
    }

    /// Counts anew what the owners want.
    pub(super) fn count_desired(&mut self, owners: &BTreeMap<OwnerKey, Owner>) {
        self.desired = self.headcount.desired(owners);
    }

    /// Notes how a replica stands now with the rules that are compared, before anybody is decided on. Says whether that
    /// may move the breaker or the floor, give somebody a turn, or free those who are held for their neighbours' sake.
    pub(super) fn compare(&mut self, key: PolicyKey, replica: &mut Replica, now: Time) -> bool {
        let Some(spec) = &self.spec else { return false };
        let compared = Compared(compares(spec).then(|| (key, self.latest(replica, spec, now))));
        if compared == replica.compared {
            return false;
        }
        let before = std::mem::replace(&mut replica.compared, compared).in_fleet(key);
        let latest = compared.in_fleet(key);
        self.standings.change(before, latest);
        let may_part = spec.heartbeat.is_some() && before.readiness != latest.readiness;
        may_part || !before.is_as_ready_but_for(latest)
    }

    /// What speaks against ejecting a replica: its neighbours fail the readiness rule as it does. Those are the judged
    /// replicas of its node, if the path there is cut, or more than half of all, at least two, unless that is the fault
    /// of their revision.
    pub(super) fn shared_failure(&self, replica: &Replica) -> Option<Obstacle> {
        match self.spec.as_ref()?.fleet.shared_failure {
            SharedFailure::Hold => {}
            SharedFailure::Ignore => return None,
        }
        let judged = &self.standings.readiness;
        let failed = replica.readiness().filter(|class| class.failure().is_some());
        let shared = |among, failing, judged| Obstacle::SharedFailure { among, failing, judged, last: failed };
        if let Some(node) = replica.seen.node.filter(|node| judged.is_cut(*node)) {
            let Tally { failing, .. } = judged.of_node(node);
            return Some(shared(Among::Node, failing, failing));
        }
        let failing = judged.failing_like(failed.and_then(OutcomeClass::failure));
        let is_theirs = || judged.is_of_revision(replica.seen.revision);
        (judged.are_most(failing) && !is_theirs()).then(|| shared(Among::Fleet, failing, judged.all.judged()))
    }

    fn latest(&self, replica: &Replica, spec: &Policy, now: Time) -> Latest {
        let observes = spec.mode == Mode::Observe;
        let breaker = spec.fleet.breaker;
        let readiness = match spec.fleet.shared_failure {
            SharedFailure::Hold => replica.readiness(),
            SharedFailure::Ignore => observes.then(|| replica.readiness()).flatten(),
        };
        Latest {
            kin: Kin { node: replica.seen.node, revision: replica.seen.revision },
            startup: breaker.and_then(|_| self.startup(replica, spec)),
            liveness: (observes || breaker.is_some()).then(|| replica.liveness()).flatten().and_then(Sign::of),
            readiness: readiness.and_then(Sign::of),
            stand: spec.floor.and_then(|_| gate::stand(replica, self, spec, now)),
            proof: rolling::counted(spec.on_policy_change, replica.proof()),
        }
    }

    /// Whether a replica starts: it has, or it has failed to, and its seat has not come back well since.
    fn startup(&self, replica: &Replica, spec: &Policy) -> Option<Sign> {
        let (judge, rule) = replica.judges.startup.as_ref().zip(spec.rule(RuleKind::Startup))?;
        if !replica.is_live() {
            return None;
        }
        if replica.is_started() {
            return Some(Sign::Passed);
        }
        let intent = replica.seat().and_then(|seat| self.seats_decided_on().get(seat)?.memory.intent);
        let is_failing = judge.is_failing(rule) || intent.is_some_and(|intent| intent.rule == RuleKind::Startup);
        let failure = judge.last.and_then(OutcomeClass::failure);
        is_failing.then_some(Sign::Failed(failure.unwrap_or(Failure::NoResponse)))
    }

    /// What is to be done about too few ready replicas, and how few those are, if they are.
    pub(super) fn below_floor(&self) -> Option<(WhenBelow, Obstacle)> {
        let settings = self.spec.as_ref()?.floor.as_ref()?;
        let below = self.floor.below(Some(settings), self.standings.stock, self.desired)?;
        Some((settings.when_below, below))
    }

    /// Whether others may move the gate of a replica to which nothing happens.
    pub(super) fn moves_gates(&self) -> bool {
        let of_floor = self.spec.as_ref().and_then(|spec| spec.floor).is_some_and(|floor| match floor.when_below {
            WhenBelow::Hold => false,
            WhenBelow::Open | WhenBelow::Close => true,
        });
        of_floor || self.rolls()
    }

    /// Whether gates stay for a while where readiness turned them.
    pub(super) fn dwells(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.dwell.is_some())
    }

    /// Notes what a replica's rules ask for now.
    pub(super) fn note(&mut self, replica: &mut Replica, now: Time) {
        let index = replica.key.index;
        match self.spec.as_ref().and_then(|spec| replica.wants_restart(spec)) {
            Some(rule) => self.wanting.entry(index).or_insert((now, rule)).1 = rule,
            None => {
                self.wanting.remove(&index);
                replica.obstacle = None;
                replica.note_recovery();
            }
        }
    }

    /// The restart that a replica's rules ask for.
    pub(super) fn wants(&self, replica: &Replica) -> Option<RuleKind> {
        self.wanting.get(&replica.key.index).map(|(_, rule)| *rule)
    }

    /// Whether it matters to it what becomes of a replica: somebody wants a restart, or has one in flight there.
    pub(super) fn follows(&self, replica: &Replica) -> bool {
        let foreseen = self.foresight.as_ref().map(|foresight| &foresight.seats);
        let mut seats = std::iter::once(&self.seats).chain(foreseen).filter(|seats| seats.is_any_open());
        !self.wanting.is_empty() || seats.any(|seats| replica.seat().is_some_and(|seat| seats.is_open(seat)))
    }

    /// How many replicas the owners want in all.
    pub(super) const fn desired(&self) -> u32 {
        self.desired
    }

    /// How many of the judged replicas are liveness suspects.
    pub(super) fn suspects(&self) -> (u32, u32) {
        let tally = self.standings.liveness.all;
        (tally.failing, tally.judged())
    }

    /// How many of the judged replicas of a part fail together.
    pub(super) fn suspects_of(&self, part: Part) -> (u32, u32) {
        let tally = part.tally(&self.standings);
        (tally.failing, tally.judged())
    }

    /// Follows the restarts in flight, then decides new ones.
    pub(super) fn step(&mut self, look: &mut Look<'_, '_>) {
        let Some(spec) = self.spec.take() else { return };
        self.breakers.step(spec.fleet.breaker.as_ref(), &self.standings, look.now, |(kind, reason)| {
            look.recorder.record_fleet(look.key, look.now, kind, reason);
        });
        let moved = self.floor.step(spec.floor.as_ref(), self.standings.stock, self.desired, look.now);
        if let Some((kind, reason)) = moved {
            look.recorder.record_fleet(look.key, look.now, kind, reason);
            self.look_at_all(look);
        }
        self.restarts.budget.fit(spec.restart.budget, look.now);
        if let Some(foresight) = &mut self.foresight {
            foresight.budget.fit(spec.restart.budget, look.now);
        }
        if !self.dependencies.is_empty() {
            self.ask_dependencies(&spec, look);
        }
        let together = spec.heartbeat.is_some() && self.standings.readiness.are_most_failing();
        if std::mem::replace(&mut self.fails_together, together) && !together {
            self.await_anew(look);
        }
        self.give_turns(&spec, look);
        self.supervise(&spec, look);
        if let Some(foresight) = &mut self.foresight {
            foresight.supervise(&spec.restart, look);
        }
        self.follow_trials();
        if self.order(&spec, look) == Orders::CalledOff {
            self.supervise(&spec, look);
            self.follow_trials();
        }
        self.decide(&spec, look);
        self.wake = self.next_wake(&spec, look);
        self.spec = Some(spec);
    }

    /// When a shared silence ends, not all beat at the same instant: those who were held for it get a whole time to
    /// live.
    fn await_anew(&self, look: &mut Look<'_, '_>) {
        for index in &self.members {
            if let Some(Some(replica)) = look.replicas.get_mut(*index as usize)
                && replica.await_anew(look.now)
            {
                look.replica_agenda.touch(*index);
            }
        }
    }

    /// A trial whose restart is off is to be made anew.
    fn follow_trials(&mut self) {
        let Self { breakers, seats, foresight, .. } = self;
        breakers.follow(foresight.as_ref().map_or(seats, |foresight| &foresight.seats));
    }

    /// Every gate may have to move.
    fn look_at_all(&self, look: &mut Look<'_, '_>) {
        for index in &self.members {
            look.again(*index);
        }
    }

    fn next_wake(&self, spec: &Policy, look: &Look<'_, '_>) -> Option<(Time, &'static str)> {
        let mut first = Wake::default();
        let breaker = spec.fleet.breaker.as_ref();
        if !self.dependencies.is_empty() {
            first.or(Pause::at(look.now, spec, None).and_then(Pause::until), "pause ends");
            self.dependencies.wakes(&mut first);
        }
        first.or(self.floor.ends(spec.floor.as_ref()), "enough are ready again");
        for open in self.breakers.all() {
            first.or(open.closes(breaker), "breaker closes");
            let tries = open.tries(breaker).filter(|at| *at > look.now && !self.wanting.is_empty());
            first.or(tries, "trial of the breaker");
        }
        let budget = spec.restart.budget.filter(|_| !self.wanting.is_empty());
        let next = budget.map(|budget| self.budget_decided_on().next(budget, look.now)).filter(|at| *at > look.now);
        first.or(next, "restart budget grows");
        let foreseen = || self.foresight.iter().map(|foresight| &foresight.seats);
        for seats in std::iter::once(&self.seats).chain(foreseen()) {
            first.or(seats.forgets_at(), "backoff forgotten");
        }
        for (_, seat) in self.seats.opened().chain(foreseen().flat_map(Seats::opened)) {
            first.or(seat.resets(&spec.restart), "backoff forgotten");
            first.or(seat.deadline(&spec.restart), "deadline of a restart");
            first.or(seat.doubted_until(), "lost answer of a restart");
        }
        for index in self.wanting.keys() {
            let replica = look.replicas.get(*index as usize).and_then(Option::as_ref);
            let seat = replica.and_then(|replica| self.seats_decided_on().get(replica.seat()?));
            let waits = seat.and_then(|seat| seat.waits(spec.restart.backoff, look.now));
            first.or(waits.map(|(until, _)| until), "restart may be tried");
        }
        first.get()
    }
}

/// Whether replicas are compared at all.
fn compares(spec: &Policy) -> bool {
    let FleetSettings { breaker, shared_failure } = spec.fleet;
    let of_attempts = spec.mode == Mode::Observe || breaker.is_some() || shared_failure == SharedFailure::Hold;
    of_attempts || spec.floor.is_some() || spec.on_policy_change == OnPolicyChange::Rolling
}

impl Look<'_, '_> {
    /// The replica of that key, if it is still there.
    fn replica(&self, key: ReplicaKey) -> Option<&Replica> {
        self.replicas.get(key.index as usize)?.as_ref().filter(|replica| replica.key == key)
    }

    /// The replica of that index is to be looked at again, though nothing happens to it.
    fn again(&mut self, index: u32) {
        if let Some(Some(replica)) = self.replicas.get_mut(index as usize) {
            replica.is_settled = false;
            self.replica_agenda.touch(index);
        }
    }
}

impl Restarts {
    fn count(&mut self, order: Order, budget: Option<BudgetSettings>, now: Time) {
        self.budget.spend(budget, now);
        self.total = self.total.saturating_add(1);
        self.in_startup = self.in_startup.saturating_add(u32::from(order.stage_of_life == StageOfLife::Starting));
    }

    fn uncount(&mut self, order: Option<Order>, budget: Option<BudgetSettings>) {
        self.budget.refund(budget);
        let starting = order.is_some_and(|order| order.stage_of_life == StageOfLife::Starting);
        self.total = self.total.saturating_sub(1);
        self.in_startup = self.in_startup.saturating_sub(u32::from(starting));
    }
}
