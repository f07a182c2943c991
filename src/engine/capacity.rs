//! What of a fleet serves, what restarts cost it although no request fails, and what would stop that.

use std::fmt;

use super::fleet::Fleet;
use super::replica::Replica;
use super::seat::Seat;
use super::{Policy, Readiness, ReplicaState, Rule, RuleKind, Span, Time};

/// What the owners want, and what of it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Replicas that the owners want.
    pub desired: u32,
    /// Live replicas that the pool takes for ready, that have started, and with no rule at its threshold.
    pub serving: u32,
    /// Seats in a restart loop.
    pub in_loop: u32,
    /// Live replicas that have not started, after a restart that cut the start before short, or for longer than a
    /// restarted seat may take.
    pub never_started: u32,
    /// What costs the rest of it; `None` while nothing is in a loop, and everybody starts.
    pub loss: Option<Loss>,
}

/// What costs a fleet capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Replicas that the owners want.
    pub desired: u32,
    /// Seats in a restart loop.
    pub in_loop: u32,
    /// Replicas that never finish starting.
    pub never_started: u32,
    /// Why.
    pub cause: Cause,
}

/// Why capacity is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A rule restarts replicas that are still starting.
    CutShort {
        /// Which.
        rule: RuleKind,
        /// How long it leaves them: its period times its threshold, after its delay.
        leaves: Span,
        /// How long it would have to leave them, and how long they took that did start; `None` if nobody took longer
        /// than it leaves them.
        needs: Option<(Span, Span)>,
    },
    /// A rule restarts replicas that had started, again and again.
    Again {
        /// Which.
        rule: RuleKind,
        /// After how many restarts in a row that do not help it stops; `None`: never.
        give_up_after: Option<u32>,
    },
    /// Others than the policy's rules restart them.
    Others,
    /// Nobody restarts them: they start, and do not finish.
    Endless,
}

/// Puts a fleet's capacity together.
pub(super) fn capacity<'a>(fleet: &Fleet, members: impl Iterator<Item = &'a Replica>, now: Time) -> Capacity {
    let Some(spec) = fleet.spec.as_deref() else { return Capacity::default() };
    let mut capacity = Capacity { desired: fleet.desired(), ..Capacity::default() };
    for replica in members.filter(|replica| replica.is_live()) {
        capacity.serving += u32::from(serves(replica, spec));
        capacity.never_started += u32::from(never_starts(replica, fleet, spec, now));
    }
    let looping = || fleet.seats.iter().map(|(_, seat)| seat).filter(|seat| seat.in_loop);
    capacity.in_loop = u32::try_from(looping().count()).unwrap_or(u32::MAX);
    let Capacity { desired, in_loop, never_started, .. } = capacity;
    let cut_short = fleet.seats.iter().map(|(_, seat)| seat).filter(|seat| seat.memory.cut_short > 0);
    let cause = match (in_loop, never_started) {
        (0, 0) => return capacity,
        (0, _) => most(cut_short.map(|seat| cause(seat, fleet, spec))).unwrap_or(Cause::Endless),
        _ => most(looping().map(|seat| cause(seat, fleet, spec))).unwrap_or(Cause::Others),
    };
    Capacity { loss: Some(Loss { desired, in_loop, never_started, cause }), ..capacity }
}

fn serves(replica: &Replica, spec: &Policy) -> bool {
    let stands = match replica.state(Some(spec)) {
        ReplicaState::Healthy | ReplicaState::Suspect | ReplicaState::Unjudged | ReplicaState::Paused => true,
        ReplicaState::Down
        | ReplicaState::Starting
        | ReplicaState::Failing
        | ReplicaState::Restarting
        | ReplicaState::Terminating => false,
    };
    stands && replica.seen.ready == Readiness::Ready
}

fn never_starts(replica: &Replica, fleet: &Fleet, spec: &Policy, now: Time) -> bool {
    let judge = RuleKind::ALL.into_iter().find_map(|kind| replica.judges[kind].as_ref());
    let Some(judge) = judge.filter(|_| !replica.is_started() && replica.pause.is_none()) else { return false };
    let seat = replica.seat().and_then(|seat| fleet.seats.get(seat));
    seat.is_some_and(|seat| seat.memory.cut_short > 0) || now.since(judge.start) > spec.restart.deadline
}

/// Why a seat is in a loop.
fn cause(seat: &Seat, fleet: &Fleet, spec: &Policy) -> Cause {
    let memory = seat.memory;
    match memory.last_rule.and_then(|kind| Some((kind, spec.rule(kind)?))) {
        Some((kind, rule)) if memory.foreign <= memory.restarts && memory.cut_short > 0 => {
            Cause::CutShort { rule: kind, leaves: leaves(rule), needs: needs(rule, fleet.startups.longest()) }
        }
        Some((rule, _)) if memory.foreign <= memory.restarts => {
            Cause::Again { rule, give_up_after: spec.restart.give_up_after.map(|times| times.get()) }
        }
        Some(_) | None => Cause::Others,
    }
}

/// How long a rule lets a replica fail.
fn leaves(rule: &Rule) -> Span {
    rule.initial_delay + rule.period * u64::from(rule.failure_threshold.get())
}

/// The last of its attempts has to come when the start is over, and the first comes at once.
fn needs(rule: &Rule, took: Option<Span>) -> Option<(Span, Span)> {
    let took = took?;
    let needs = took + rule.period;
    (needs > leaves(rule)).then_some((needs, took))
}

/// The one that there are most of; of as many, the first in their order.
fn most(causes: impl Iterator<Item = Cause>) -> Option<Cause> {
    let mut causes: Vec<Cause> = causes.collect();
    causes.sort_unstable();
    let alike = causes.chunk_by(|a, b| a == b).rev();
    alike.max_by_key(|alike| alike.len()).and_then(|alike| alike.first().copied())
}

/// The sentence, without a full stop: the rule that causes it, and the setting that would stop it.
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { desired, in_loop, never_started, cause } = *self;
        let many = match in_loop {
            0 => format!("{never_started} of {desired} never started"),
            _ => format!("{in_loop} of {desired} in a loop"),
        };
        match cause {
            Cause::CutShort { rule, leaves, needs } => {
                write!(f, "{rule} restarts replicas that are still starting ({many}): ")?;
                match (rule, needs) {
                    (RuleKind::Startup, Some((needs, _))) => {
                        write!(f, "give startup at least {needs} (period x failureThreshold) instead of {leaves}")?;
                    }
                    (RuleKind::Startup, None) => {
                        write!(f, "give startup more than {leaves} (period x failureThreshold)")?;
                    }
                    (RuleKind::Liveness | RuleKind::Readiness, Some((needs, _))) => {
                        write!(f, "add a startup rule with at least {needs} (period x failureThreshold)")?;
                    }
                    (RuleKind::Liveness | RuleKind::Readiness, None) => write!(
                        f,
                        "add a startup rule with more than the {leaves} (period x failureThreshold) that {rule} leaves \
                         them"
                    )?,
                }
                needs.map_or(Ok(()), |(_, took)| write!(f, ", they took {took} when they did start"))
            }
            Cause::Again { rule, give_up_after } => {
                write!(
                    f,
                    "{rule} restarts replicas that had started, again and again ({many}): leave out of {rule} what a \
                     restart cannot heal"
                )?;
                match give_up_after {
                    Some(times) => write!(f, ", restart.giveUpAfter stops it after {times} that do not help"),
                    None => write!(f, ", or let restart.giveUpAfter stop it"),
                }
            }
            Cause::Others => write!(
                f,
                "others than this policy restart replicas ({many}): see why their containers end, or whether they have \
                 probes of their own"
            ),
            Cause::Endless => {
                write!(f, "replicas do not finish starting ({many}): see what startup asks, and their logs")
            }
        }
    }
}
