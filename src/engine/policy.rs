//! A policy as the engine believes it: parsed, defaulted and free of contradictions.

use std::num::NonZeroU32;

use super::{Dependency, DwellSettings, FailureWindow, Question, Span, Time};

/// What one `ProbePolicy` object asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The object's generation that this was parsed from.
    pub generation: i64,
    /// Whether decisions are carried out.
    pub mode: Mode,
    /// Until when it is paused, whatever the mode; `None`, or a time that is over: it is not.
    pub paused_until: Option<Time>,
    /// The rules, by kind.
    pub rules: PerRule<Option<Rule>>,
    /// The rule that asks nothing: replicas say by themselves that they are there.
    pub heartbeat: Option<Heartbeat>,
    /// How restarts are done and held back.
    pub restart: RestartSettings,
    /// How the pool is told.
    pub pool: Pool,
    /// How few ready replicas the pool may have; `None`: none at all.
    pub floor: Option<FloorSettings>,
    /// What becomes of those in the pool when an edit changes what readiness asks.
    pub on_policy_change: OnPolicyChange,
    /// How long a gate stays at least where readiness has turned it; `None`: for no time at least.
    pub dwell: Option<DwellSettings>,
    /// What is decided with all replicas in view.
    pub fleet: FleetSettings,
    /// What all replicas need; at most one of a name.
    pub dependencies: Vec<Dependency>,
    /// Where on the clock attempts fall.
    pub phase: Phase,
}

/// Whether decisions are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Attempts are made and judged, gates are open, nothing is restarted; what enforcing would have done is told.
    Observe,
    /// Decisions are carried out.
    Enforce,
    /// No attempts; known containers keep their gate, new ones are let in.
    Paused,
}

/// The kind of a rule, which is also its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleKind {
    /// Has it finished starting? Until it has, the other rules wait; at the threshold it is restarted.
    Startup,
    /// Does the process answer? At the threshold the replica is restarted.
    Liveness,
    /// Should it get traffic? At the threshold the replica leaves the pool.
    Readiness,
}

/// One value for each kind of rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerRule<T> {
    /// For the startup rule.
    pub startup: T,
    /// For the liveness rule.
    pub liveness: T,
    /// For the readiness rule.
    pub readiness: T,
}

/// One rule: what it asks, how often, and how many answers make a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What is asked; a changed question makes old evidence void.
    pub question: Question,
    /// From one attempt to the next; above zero.
    pub period: Span,
    /// How long an attempt may take in all; above zero. Longer than the period stretches the period.
    pub timeout: Span,
    /// From one attempt to the next until the first pass on a container; above zero. `None`: the period.
    pub startup_period: Option<Span>,
    /// From one attempt to the next while a streak is undecided; above zero. `None`: the period.
    pub fast_period: Option<Span>,
    /// From the container's start to the first attempt.
    pub initial_delay: Span,
    /// Failures in a row that make the rule fail.
    pub failure_threshold: NonZeroU32,
    /// Passes in a row that make the rule pass again.
    pub success_threshold: NonZeroU32,
    /// Failures that make the rule fail though they are not in a row. It then passes again only once fewer are left of
    /// them.
    pub failure_window: Option<FailureWindow>,
}

/// Replicas say by themselves that they are there. One that has started leaves the pool once it has been silent for the
/// time to live, or says that it goes; it is back with its next beat, if its readiness rule agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// For how long a beat counts; above zero.
    pub time_to_live: Span,
}

/// How restarts are done and held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartSettings {
    /// By what means.
    pub method: RestartMethod,
    /// How many seats may be in a restart at once, of the owners' desired replicas; at least one.
    pub max_concurrent: Amount,
    /// How many restarts the whole fleet may have in a time; `None`: any number.
    pub budget: Option<BudgetSettings>,
    /// How long a seat waits between restarts.
    pub backoff: Backoff,
    /// What a wedged process gets to end; replaces the pod's own grace period.
    pub grace_period: Span,
    /// How long a restarted seat may take until it is judged well; past it the restart counts as futile.
    pub deadline: Span,
    /// Restarts of one seat that make a loop.
    pub loop_after: NonZeroU32,
    /// Futile restarts of one seat in a row after which it is not restarted any more; `None`: it always is.
    pub give_up_after: Option<NonZeroU32>,
    /// What to do under owners of a kind that we do not know.
    pub other_owners: OtherOwners,
}

/// What to do for a replica whose owner is of a kind that we do not know ([`OwnerKind::Other`](super::OwnerKind)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherOwners {
    /// It is never restarted: nobody may create it again.
    Refuse,
    /// It is restarted, on the user's word that its owner creates replicas again. How many it wants is not known, so the
    /// live ones count for it.
    Restart,
}

/// By what means a replica is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMethod {
    /// Asks the disruption budgets; a refusal waits.
    Evict,
    /// Does not ask them.
    Delete,
}

/// A number of replicas, or a share of some. A share is rounded down, everywhere; what least there must be all the same
/// is said where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Count(u32),
    /// So many in a hundred.
    Percent(u32),
}

/// How many restarts a fleet may have in a time, as a bucket of tokens: `restarts` at once, then one more each
/// `per / restarts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetSettings {
    /// So many.
    pub restarts: NonZeroU32,
    /// In which an empty budget becomes whole again; at least a nanosecond for each restart.
    pub per: Span,
}

/// How long a seat waits between restarts: `initial`, doubled with each restart up to `max`,
/// forgotten after `reset_after` without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first restart; zero switches the backoff off.
    pub initial: Span,
    /// The longest wait.
    pub max: Span,
    /// Without a restart for so long, the seat's count begins anew.
    pub reset_after: Span,
}

/// What is decided with all replicas in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetSettings {
    /// When restarts wait because many replicas are suspect at once; `None`: never.
    pub breaker: Option<BreakerSettings>,
    /// What to do about readiness failures that most replicas share.
    pub shared_failure: SharedFailure,
}

/// When restarts wait because many replicas are suspect at once: a restart does not heal what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// Suspects that open it, of the judged replicas; at least two.
    pub open_at: Amount,
    /// With fewer judged replicas it does not open.
    pub min_judged: u32,
    /// It closes once fewer are suspect than open it, for so long.
    pub cooldown: Span,
    /// While it is open, one restart is tried after so long, and so long after each one that did not help; `None`: none.
    pub trial: Option<Span>,
}

/// What to do about readiness failures that replicas share: then a replica is no worse off than its neighbours. They are
/// shared while at least two of the judged replicas, and more than half of them, failed their latest attempt alike, unless
/// most of another revision passes; and while the path to a node is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedFailure {
    /// Nobody who is in is ejected for them, also when they end, until it is asked again.
    Hold,
    /// A replica is ejected whatever its neighbours do.
    Ignore,
}

/// How the pool is told who is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// By the pod readiness gate `probepolicy.dev/ready`.
    ReadinessGate,
    /// By EndpointSlices of our own, for a Service that selects no pods.
    EndpointSlice,
    /// Not at all: the policy only restarts.
    None,
}

/// What becomes of those in the pool when an edit changes what readiness asks, or adds that rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnPolicyChange {
    /// They stay until they are judged by it.
    Keep,
    /// They leave at once, and come back once they pass it.
    Prepare,
    /// The same, but not at once: so many at a time as restarts are allowed, and the pool keeps its floor.
    Rolling,
}

/// How few ready replicas the pool may have, and what then. A replica is ready if its own rules let it in; one that is
/// starting or terminating is neither ready nor let in for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloorSettings {
    /// With fewer ready replicas, of those that the owners want, the pool is below its floor.
    pub min_ready: Amount,
    /// What is done while it is.
    pub when_below: WhenBelow,
    /// It is over once enough have been ready for so long.
    pub cooldown: Span,
}

/// What is done while the pool is below its floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBelow {
    /// Nobody who is in is ejected.
    Hold,
    /// Whoever has started is let in, also those that fail.
    Open,
    /// Nobody is let in, also those that are ready.
    Close,
}

/// Where on the clock the attempts of a rule fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// At the multiples of the period, counted from `origin`: every replica at the same instant.
    Aligned {
        /// Where the common clock starts.
        origin: Time,
    },
    /// The first attempt when the container is due, later ones on a phase of the replica's own.
    Spread,
}

impl Policy {
    /// The rule of that kind, if the policy has one.
    pub fn rule(&self, kind: RuleKind) -> Option<&Rule> {
        self.rules[kind].as_ref()
    }
}

impl RuleKind {
    /// All kinds, in the order in which a replica is judged.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Liveness, Self::Readiness];

    /// The rule's name, in every place where people see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}

impl Amount {
    /// How many that is of `all` replicas.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => u32::try_from(u64::from(all) * u64::from(percent) / 100).unwrap_or(u32::MAX),
        }
    }
}

impl BreakerSettings {
    /// Whether so many suspects among so many judged replicas open it.
    pub fn opens(&self, suspect: u32, judged: u32) -> bool {
        judged >= self.min_judged && suspect >= self.open_at.of(judged).max(2)
    }
}

impl BudgetSettings {
    /// From one restart to the next of a budget that is empty.
    pub fn interval(self) -> Span {
        Span::from_nanos((self.per.as_nanos() / u64::from(self.restarts.get())).max(1))
    }
}

impl Backoff {
    /// How long a seat waits after its `restarts`-th restart in a row.
    pub fn wait_after(self, restarts: u32) -> Span {
        doubled(self.initial, self.max, restarts)
    }
}

/// `initial` the first time, doubled with each further time up to `max`; nothing before the first.
pub(super) fn doubled(initial: Span, max: Span, times: u32) -> Span {
    let Some(doublings) = times.checked_sub(1) else {
        return Span::ZERO;
    };
    let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
    (initial * factor).min(max)
}

impl<T> PerRule<T> {
    /// What `value` says of each kind.
    pub fn from_fn(mut value: impl FnMut(RuleKind) -> T) -> Self {
        Self {
            startup: value(RuleKind::Startup),
            liveness: value(RuleKind::Liveness),
            readiness: value(RuleKind::Readiness),
        }
    }

    /// All three, in the order in which a replica is judged.
    pub fn all(&self) -> [&T; 3] {
        [&self.startup, &self.liveness, &self.readiness]
    }
}

impl<T> std::ops::Index<RuleKind> for PerRule<T> {
    type Output = T;
    fn index(&self, kind: RuleKind) -> &T {
        match kind {
            RuleKind::Startup => &self.startup,
            RuleKind::Liveness => &self.liveness,
            RuleKind::Readiness => &self.readiness,
        }
    }
}

impl<T> std::ops::IndexMut<RuleKind> for PerRule<T> {
    fn index_mut(&mut self, kind: RuleKind) -> &mut T {
        match kind {
            RuleKind::Startup => &mut self.startup,
            RuleKind::Liveness => &mut self.liveness,
            RuleKind::Readiness => &mut self.readiness,
        }
    }
}

impl std::fmt::Display for RuleKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_from_initial_to_max() {
        let backoff =
            Backoff { initial: Span::from_secs(10), max: Span::from_secs(300), reset_after: Span::from_secs(600) };
        let waits = [0, 1, 2, 3, 6, 99].map(|n| backoff.wait_after(n));
        assert_eq!(waits, [0, 10, 20, 40, 300, 300].map(Span::from_secs));
    }

    #[test]
    fn a_percentage_is_rounded_down() {
        assert_eq!([1, 2, 3, 5, 8].map(|all| Amount::Percent(50).of(all)), [0, 1, 1, 2, 4]);
        assert_eq!(Amount::Percent(100).of(u32::MAX), u32::MAX);
        assert_eq!(Amount::Count(2).of(1), 2);
    }

    #[test]
    fn half_of_a_fleet_opens_a_breaker_but_never_one_replica_alone() {
        let half =
            BreakerSettings { open_at: Amount::Percent(50), min_judged: 2, cooldown: Span::from_secs(60), trial: None };
        let opened_by = |judged| (0..=judged).find(|suspect| half.opens(*suspect, judged));
        assert_eq!([1, 2, 3, 4, 5, 8].map(opened_by), [None, Some(2), Some(2), Some(2), Some(2), Some(4)]);
        assert!(!BreakerSettings { min_judged: 4, ..half }.opens(3, 3));
    }
}
