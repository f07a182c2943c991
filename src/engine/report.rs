//! What the engine holds at an instant, for status, metrics and people.

use super::capacity::{self, Capacity};
use super::fleet::{Breaker, Fleet};
use super::proof::{Proof, Standpoint};
use super::replica::Replica;
use super::seat::Seat;
use super::{
    BudgetSettings, DependencyName, Gate, GateSeen, Lifecycle, Obstacle, OutcomeClass, Part, Pause, PerRule, Policy,
    PolicyKey, Pool, Presence, Readiness, Reason, ReplicaKey, RevisionKey, RuleKind, SeatKey, SeatMemory, Span,
    StartupTimes, Stretched, Target, TargetProblem, Time, Trial, WouldHave,
};

/// How many of our own errors in a row are worth telling.
pub const PERSISTENT_ERRORS: u32 = 3;
/// A write that takes longer is worth telling.
const LAGS: Span = Span::from_secs(1);

/// What the engine holds of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyReport {
    /// The generation of the spec in force; `None` while no valid one is remembered.
    pub generation: Option<i64>,
    /// Live replicas that the policy keeps; terminating ones are in none of the counts.
    pub replicas: u32,
    /// Of those, not finished starting.
    pub starting: u32,
    /// Of those, what the pool takes for ready.
    pub in_pool: u32,
    /// Of those, with a rule whose latest attempt failed.
    pub suspect: u32,
    /// Of those, with a rule at its threshold.
    pub failing: u32,
    /// Of those, without a gate although the policy wants one.
    pub ungated: u32,
    /// Of those, closed at the API server for 5 s while the pool still takes them for ready.
    pub ejection_not_effective: u32,
    /// Of those, with a gate that has stood otherwise at the API server than it should for a second.
    pub unwritten: u32,
    /// For how long at most.
    pub write_lag: Span,
    /// Restarts carried out by this engine.
    pub restarts: u32,
    /// Of those, of replicas that had not finished starting.
    pub restarts_in_startup: u32,
    /// Of those, that did not come back in time.
    pub restarts_futile: u32,
    /// Seats in a loop.
    pub in_loop: u32,
    /// Seats that are not restarted any more, since it has not helped.
    pub gave_up: u32,
    /// Replicas that are paused; they count neither as starting nor as suspect.
    pub paused: u32,
    /// Why the policy with all its replicas is paused.
    pub pause: Option<Pause>,
    /// What of it serves, and what costs it the rest.
    pub capacity: Capacity,
    /// How long replicas took to start, by revision, the oldest first; of the latest three.
    pub startups: Vec<(Option<RevisionKey>, StartupTimes)>,
    /// What is left of the restart budget; `None`: there is none.
    pub budget: Option<BudgetReport>,
    /// The ceiling on the attempts of all policies, while it stretches their periods.
    pub stretched: Option<Stretched>,
    /// Of the replicas, those that all their rules have judged under the spec in force.
    pub applied: u32,
    /// Of the replicas, out of the pool until they pass what an edit asks.
    pub preparing: u32,
    /// Of the replicas, in the pool until it is their turn to pass what an edit asks.
    pub awaiting: u32,
    /// Whether the pool is below its floor.
    pub floor: FloorReport,
    /// Whether restarts wait because many replicas are suspect at once.
    pub breaker: BreakerReport,
    /// What enforcing would have done; only while the policy observes.
    pub would_have: Option<WouldHave>,
    /// The parts of the fleet whose restarts wait because its replicas fail together.
    pub parts: Vec<PartReport>,
    /// By rule: what can be said of it as a whole.
    pub rules: PerRule<Option<RuleReport>>,
    /// What can be said of the heartbeat rule as a whole; `None` without one.
    pub heartbeat: Option<HeartbeatReport>,
    /// What can be said of each dependency, in the order of the policy.
    pub dependencies: Vec<DependencyReport>,
    /// Seats that remember anything, in key order.
    pub seats: Vec<SeatReport>,
    /// The replicas, in key order, terminating ones included.
    pub replica_reports: Vec<ReplicaReport>,
}

/// What can be said of a rule as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleReport {
    /// Somebody has passed it under its present question.
    pub ever_passed: bool,
    /// Replicas where it cannot be asked, and why (one of them).
    pub unusable: Option<(u32, TargetProblem)>,
    /// Replicas whose last three attempts or more were our own errors.
    pub prober_errors: u32,
}

/// What can be said of the heartbeat rule as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatReport {
    /// Somebody has beaten.
    pub ever_beat: bool,
    /// Live replicas that have started and were silent for a whole time to live.
    pub missing: u32,
    /// Live replicas that have said that they go.
    pub deregistered: u32,
    /// Replicas whose beats come so rarely that two do not fit into the time to live, and the longest time between two.
    pub rare: Option<(u32, Span)>,
    /// Replicas whose container cannot be told, and why (one of them).
    pub unusable: Option<(u32, TargetProblem)>,
}

/// What can be said of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependencyReport {
    /// Which.
    pub name: DependencyName,
    /// How it stands.
    pub state: DependencyState,
    /// What its latest attempt that counted came to.
    pub last: Option<OutcomeClass>,
    /// Our own errors in a row.
    pub prober_errors: u32,
}

/// How a dependency stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyState {
    /// It has not passed yet under its present question, so it says nothing.
    NeverPassed,
    /// It passes.
    Up,
    /// Its latest attempt failed, which is not enough to say that it is down and enough to hold what is held for it.
    Suspect,
    /// It is down.
    Down {
        /// Since when.
        since: Time,
    },
}

/// Whether restarts wait because many replicas are suspect at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BreakerReport {
    /// They do not.
    #[default]
    Closed,
    /// They do.
    Open {
        /// Judged replicas whose latest liveness attempt failed.
        suspect: u32,
        /// Judged replicas.
        judged: u32,
        /// How far it is with trying whether restarts help.
        trial: Trial,
    },
}

/// What is left of the restart budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetReport {
    /// So many restarts at once.
    pub left: u32,
    /// When there is one more; `None` if it is whole.
    pub next: Option<Time>,
    /// When it is whole again; `None` if it is.
    pub whole_at: Option<Time>,
}

/// A part of the fleet whose restarts wait because its replicas fail together, or did until less than the cooldown ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartReport {
    /// Which.
    pub part: Part,
    /// Judged replicas of it that fail.
    pub failing: u32,
    /// Judged replicas of it.
    pub judged: u32,
    /// How the first of them failed last.
    pub last: Option<OutcomeClass>,
    /// How far it is with trying whether restarts help.
    pub trial: Trial,
}

/// Whether the pool is below its floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FloorReport {
    /// It is not.
    #[default]
    Above,
    /// It is, or was until less than the cooldown ago.
    Below {
        /// Replicas that their own rules let in.
        ready: u32,
        /// How many the pool must have.
        floor: u32,
    },
}

/// What a seat remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatReport {
    /// Which.
    pub seat: SeatKey,
    /// What.
    pub memory: SeatMemory,
    /// Whether that makes a loop.
    pub in_loop: bool,
    /// Whether it is not restarted any more, since it has not helped.
    pub gave_up: bool,
}

/// What the engine holds of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaReport {
    /// Which.
    pub replica: ReplicaKey,
    /// The policy that keeps it.
    pub policy: Option<PolicyKey>,
    /// Its seat.
    pub seat: Option<SeatKey>,
    /// Whether it is being ended.
    pub lifecycle: Lifecycle,
    /// What it is held for.
    pub state: ReplicaState,
    /// Why it is let alone.
    pub pause: Option<Pause>,
    /// Where the gate should stand, and why; `None` where the engine leaves it alone.
    pub gate: Option<(Gate, Reason)>,
    /// Failures in a row, by rule that judges it.
    pub streaks: PerRule<Option<u32>>,
    /// Whether it says that it is there; `None` without a heartbeat rule.
    pub presence: Option<Presence>,
    /// The restart that a rule wants, and what stands in its way.
    pub wants_restart: Option<(RuleKind, Option<Obstacle>)>,
    /// The generation of the spec under which all its rules have judged it; `None` while one has not.
    pub applied: Option<i64>,
    /// When something is to be done for it next, and what.
    pub next: Option<(Time, &'static str)>,
}

/// What a replica is held for. The metric `state` uses the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplicaState {
    /// No container runs.
    Down,
    /// Startup has not passed.
    Starting,
    /// No finished attempt yet.
    Unjudged,
    /// Every rule passes.
    Healthy,
    /// A rule's latest attempt failed.
    Suspect,
    /// A rule is at its threshold.
    Failing,
    /// A restart of it is in flight.
    Restarting,
    /// It is let alone.
    Paused,
    /// It is being ended.
    Terminating,
}

/// Puts a policy's report together.
pub(super) fn report<'a>(
    policy: PolicyKey,
    fleet: &Fleet,
    members: impl Iterator<Item = &'a Replica> + Clone,
    now: Time,
) -> PolicyReport {
    let spec = fleet.spec.as_deref();
    let wants_gates = spec.is_some_and(|spec| spec.pool == Pool::ReadinessGate);
    let mut report = PolicyReport {
        generation: spec.map(|spec| spec.generation),
        pause: spec.and_then(|spec| Pause::at(now, spec, None)),
        restarts: fleet.restarts.total,
        restarts_in_startup: fleet.restarts.in_startup,
        restarts_futile: fleet.restarts.futile,
        capacity: capacity::capacity(fleet, members.clone(), now),
        startups: fleet.startups.iter().cloned().collect(),
        budget: spec.and_then(|spec| spec.restart.budget).map(|settings| budget_report(fleet, settings, now)),
        would_have: fleet.foresight.as_ref().map(|foresight| foresight.would_have),
        floor: match fleet.below_floor() {
            Some((_, Obstacle::Floor { ready, floor })) => FloorReport::Below { ready, floor },
            Some(_) | None => FloorReport::Above,
        },
        breaker: match fleet.breakers.fleet {
            Breaker::Closed => BreakerReport::Closed,
            Breaker::Open { trial, .. } => {
                let (suspect, judged) = fleet.suspects();
                BreakerReport::Open { suspect, judged, trial }
            }
        },
        parts: fleet
            .breakers
            .parts()
            .filter_map(|(part, breaker)| part_report(fleet, part, breaker, members.clone()))
            .collect(),
        dependencies: fleet.dependencies.reports(),
        seats: fleet.seats.iter().map(|(seat, held)| seat_report(seat, held, spec)).collect(),
        replica_reports: Vec::with_capacity(fleet.members.len()),
        ..PolicyReport::default()
    };
    report.seats.sort_unstable_by_key(|seat| seat.seat);
    report.in_loop = count(report.seats.iter().filter(|seat| seat.in_loop));
    report.gave_up = count(report.seats.iter().filter(|seat| seat.gave_up));
    for kind in RuleKind::ALL {
        let known = spec.is_some_and(|spec| spec.rule(kind).is_some());
        let rule = RuleReport { ever_passed: fleet.ever_passed[kind], ..RuleReport::default() };
        report.rules[kind] = known.then_some(rule);
    }
    let heartbeat = spec.and_then(|spec| spec.heartbeat);
    report.heartbeat = heartbeat.map(|_| HeartbeatReport { ever_beat: fleet.ever_beat, ..HeartbeatReport::default() });
    for replica in members {
        let state = replica_state(fleet, replica);
        let applied = spec.and_then(|spec| replica.applied(spec));
        if replica.seen.lifecycle == Lifecycle::Live {
            report.count(replica, state, now);
            report.ungated += u32::from(wants_gates && replica.seen.gate == GateSeen::Ungated);
            report.applied += u32::from(applied.is_some() && applied == report.generation);
        }
        report.replica_reports.push(ReplicaReport {
            replica: replica.key,
            policy: Some(policy),
            seat: replica.seat(),
            lifecycle: replica.seen.lifecycle,
            state,
            pause: replica.pause,
            gate: replica.gate.held(),
            streaks: PerRule {
                startup: replica.judges.startup.as_ref().map(|judge| judge.fails),
                liveness: replica.judges.liveness.as_ref().map(|judge| judge.fails),
                readiness: replica.judges.readiness.as_ref().map(|judge| judge.fails),
            },
            presence: replica.pulse.as_ref().map(|pulse| pulse.presence()),
            wants_restart: fleet.wants(replica).map(|rule| (rule, replica.obstacle)),
            applied,
            next: replica.next_wake(),
        });
    }
    report
}

impl PolicyReport {
    fn count(&mut self, replica: &Replica, state: ReplicaState, now: Time) {
        self.replicas += 1;
        self.in_pool += u32::from(replica.seen.ready == Readiness::Ready);
        let is_out = replica.gate.standpoint() == Standpoint::Out;
        match replica.proof() {
            Proof::Given => {}
            Proof::Awaited => self.awaiting += 1,
            Proof::Preparing => self.preparing += u32::from(is_out),
        }
        self.ejection_not_effective += u32::from(replica.gate.is_ejection_not_effective(now));
        let lag = replica.gate.lag(now);
        if lag >= LAGS {
            self.unwritten += 1;
            self.write_lag = self.write_lag.max(lag);
        }
        match state {
            ReplicaState::Down | ReplicaState::Starting => self.starting += 1,
            ReplicaState::Suspect => self.suspect += 1,
            ReplicaState::Failing | ReplicaState::Restarting => {
                self.suspect += 1;
                self.failing += 1;
            }
            ReplicaState::Paused => self.paused += 1,
            ReplicaState::Unjudged | ReplicaState::Healthy | ReplicaState::Terminating => {}
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.count(replica);
        }
        for kind in RuleKind::ALL {
            let Some(rule) = &mut self.rules[kind] else { continue };
            if let Some(problem) = replica.problem(kind) {
                rule.unusable = Some((rule.unusable.map_or(1, |(n, _)| n + 1), problem));
            }
            let errors = replica.judges[kind].as_ref().map_or(0, |judge| judge.prober_errors);
            rule.prober_errors += u32::from(errors >= PERSISTENT_ERRORS);
        }
    }
}

fn budget_report(fleet: &Fleet, settings: BudgetSettings, now: Time) -> BudgetReport {
    let budget = fleet.restarts.budget;
    let whole_at = budget.whole_at(now);
    BudgetReport { left: budget.left(settings, now), next: whole_at.map(|_| budget.next(settings, now)), whole_at }
}

impl HeartbeatReport {
    fn count(&mut self, replica: &Replica) {
        if let Some(Target::Unusable(problem)) = replica.seen.heartbeat {
            self.unusable = Some((self.unusable.map_or(1, |(n, _)| n + 1), problem));
        }
        let Some(pulse) = &replica.pulse else { return };
        match pulse.presence() {
            Presence::Missing => self.missing += u32::from(replica.is_started()),
            Presence::Deregistered => self.deregistered += 1,
            Presence::Awaited | Presence::Present | Presence::Late => {}
        }
        if let Some(interval) = pulse.rare() {
            let (replicas, longest) = self.rare.unwrap_or_default();
            self.rare = Some((replicas + 1, longest.max(interval)));
        }
    }
}

fn part_report<'a>(
    fleet: &Fleet,
    part: Part,
    breaker: &Breaker,
    mut members: impl Iterator<Item = &'a Replica>,
) -> Option<PartReport> {
    let trial = breaker.trial()?;
    let (failing, judged) = fleet.suspects_of(part);
    let failed = |replica: &Replica| {
        let judge = replica.judges[part.rule()].as_ref().filter(|judge| judge.is_suspect())?;
        judge.last.filter(|_| Part::of(replica).any(|of| of == part))
    };
    Some(PartReport { part, failing, judged, last: members.find_map(failed), trial })
}

fn seat_report(seat: SeatKey, held: &Seat, spec: Option<&Policy>) -> SeatReport {
    let gave_up = spec.is_some_and(|spec| held.gave_up(&spec.restart));
    SeatReport { seat, memory: held.memory, in_loop: held.in_loop, gave_up }
}

fn replica_state(fleet: &Fleet, replica: &Replica) -> ReplicaState {
    let restarting = |seat: SeatKey| {
        let intent = fleet.seats.get(seat).and_then(|seat| seat.memory.intent);
        intent.is_some_and(|intent| intent.replica == Some(replica.key))
    };
    let state = replica.state(fleet.spec.as_deref());
    let may_restart = matches!(state, ReplicaState::Failing | ReplicaState::Starting);
    if may_restart && replica.seat().is_some_and(restarting) { ReplicaState::Restarting } else { state }
}

fn count<T>(things: impl Iterator<Item = T>) -> u32 {
    u32::try_from(things.count()).unwrap_or(u32::MAX)
}

impl ReplicaState {
    /// Every state, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::Down,
        Self::Starting,
        Self::Unjudged,
        Self::Healthy,
        Self::Suspect,
        Self::Failing,
        Self::Restarting,
        Self::Paused,
        Self::Terminating,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Starting => "starting",
            Self::Unjudged => "unjudged",
            Self::Healthy => "healthy",
            Self::Suspect => "suspect",
            Self::Failing => "failing",
            Self::Restarting => "restarting",
            Self::Paused => "paused",
            Self::Terminating => "terminating",
        }
    }
}
