//! What the engine holds at an instant, for status, metrics and people.

use super::{
    Gate, Incarnation, Lifecycle, Obstacle, PerRule, PolicyKey, Reason, ReplicaKey, RuleKind, SeatKey, SeatMemory,
    TargetProblem, Time,
};

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
    /// Restarts carried out since this engine began.
    pub restarts: u32,
    /// Of those, of replicas that had not finished starting.
    pub restarts_in_startup: u32,
    /// Of those, that did not come back in time.
    pub restarts_futile: u32,
    /// Seats in a loop.
    pub in_loop: u32,
    /// By rule: what can be said of it as a whole.
    pub rules: PerRule<Option<RuleReport>>,
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

/// What a seat remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatReport {
    /// Which.
    pub seat: SeatKey,
    /// What.
    pub memory: SeatMemory,
    /// Whether that makes a loop.
    pub in_loop: bool,
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
    /// Where the gate should stand, and why; `None` where the engine leaves it alone.
    pub gate: Option<(Gate, Reason)>,
    /// The verdict of each rule so far: the container, and the failures in a row.
    pub streaks: PerRule<Option<(Incarnation, u32)>>,
    /// The restart that a rule wants, and what stands in its way.
    pub wants_restart: Option<(RuleKind, Option<Obstacle>)>,
    /// When the next attempt is due.
    pub next_attempt: Option<Time>,
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
    /// It is being ended.
    Terminating,
}

impl ReplicaState {
    /// Every state, in the order of the enum.
    pub const ALL: [Self; 8] = [
        Self::Down,
        Self::Starting,
        Self::Unjudged,
        Self::Healthy,
        Self::Suspect,
        Self::Failing,
        Self::Restarting,
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
            Self::Terminating => "terminating",
        }
    }
}
