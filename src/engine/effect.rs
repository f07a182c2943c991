//! Everything the engine can ask of the world. Effects are data; the world drops one whose replica or
//! container is no longer the one it was decided for, and answers with an [`EffectResult`](super::EffectResult).

use super::{
    AttemptId, DependencyAttempt, Gate, Incarnation, IntentId, PolicyKey, Reason, ReplicaKey, RestartMethod, RuleKind,
    SeatKey, Span, Time, TransitionId,
};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask a replica. Answered by `AttemptFinished` before the deadline; past it the outcome is our own fault.
    StartAttempt {
        /// Names the attempt in its answer.
        attempt: AttemptId,
        /// The policy whose rule asks.
        policy: PolicyKey,
        /// The container that is asked.
        incarnation: Incarnation,
        /// When the attempt itself must have given up: its start plus the rule's timeout.
        deadline: Time,
    },
    /// Ask a dependency. Answered by `DependencyAnswered` before the deadline; past it the outcome is our own fault.
    AskDependency {
        /// Names the attempt in its answer.
        attempt: DependencyAttempt,
        /// When the attempt itself must have given up: its start plus the dependency's timeout.
        deadline: Time,
    },
    /// Write a replica's gate and the verdict beside it. Answered by `GateResult`.
    SetGate {
        /// Whose.
        replica: ReplicaKey,
        /// `None` for a replica without a gate: only the verdict is written.
        gate: Option<Gate>,
        /// The verdict to remember.
        verdict: Verdict,
        /// Why the gate stands so.
        reason: Reason,
    },
    /// Write down, durably, that a restart is about to be done. Answered by `IntentResult`; nothing is done before.
    RecordIntent {
        /// Names it in its answer, and says in whose status and whose restart.
        intent: IntentId,
        /// The seat that remembers it.
        seat: SeatKey,
        /// The rule that wants it.
        rule: RuleKind,
    },
    /// Restart a replica. Answered by `RestartResult`.
    Restart {
        /// The policy that wants it.
        policy: PolicyKey,
        /// Which.
        replica: ReplicaKey,
        /// The rule that wants it.
        rule: RuleKind,
        /// The container it was decided for.
        incarnation: Incarnation,
        /// By what means.
        method: RestartMethod,
        /// What the process gets to end.
        grace_period: Span,
    },
    /// Tell people: something changed for a replica.
    Record(Transition),
    /// Tell people: something changed for a fleet as a whole.
    RecordFleet(FleetTransition),
    /// A recorded transition was acknowledged by the API server.
    Published {
        /// Which.
        transition: TransitionId,
        /// When.
        at: Time,
    },
    /// A recorded transition has reached the pool.
    Took {
        /// Which.
        transition: TransitionId,
        /// When.
        at: Time,
    },
}

/// What is written beside the gate, for the engine that comes after this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The container that has finished starting; `None` while the present one has not.
    pub started: Option<Incarnation>,
    /// The policy's generation it was made under.
    pub generation: i64,
}

/// One change in what we hold of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Names it in what follows.
    pub id: TransitionId,
    /// The policy that keeps the replica.
    pub policy: Option<PolicyKey>,
    /// Which replica.
    pub replica: ReplicaKey,
    /// When it was decided.
    pub at: Time,
    /// What changed.
    pub kind: TransitionKind,
    /// Why.
    pub reason: Reason,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransitionKind {
    /// It finished starting.
    Started,
    /// It was let into the pool.
    Admitted,
    /// It was taken out of the pool, or is kept out.
    Ejected,
    /// It is to be restarted.
    RestartDecided,
    /// The restart was carried out.
    Restarted,
    /// The restart cannot be done now.
    RestartRefused,
    /// Its seat was restarted so often that it is a loop.
    LoopBegan,
    /// Its seat is no longer in a loop.
    LoopEnded,
    /// Its seat came back well after a restart.
    Returned,
    /// Its seat did not come back in time.
    DidNotReturn,
    /// Its policy observes; enforced, it would have restarted it.
    WouldHaveRestarted,
    /// Its policy observes; enforced, it would have taken it out of the pool.
    WouldHaveEjected,
    /// Its policy observes; enforced, it would have let it into the pool.
    WouldHaveAdmitted,
    /// Its policy observes; enforced, a restart or an ejection would have been held.
    WouldHaveHeld,
}

/// One change in what we hold of a fleet as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetTransition {
    /// The policy that keeps the fleet.
    pub policy: PolicyKey,
    /// When it was decided.
    pub at: Time,
    /// What changed.
    pub kind: FleetTransitionKind,
    /// Why.
    pub reason: Reason,
}

/// What changed for a fleet as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FleetTransitionKind {
    /// So many replicas are suspect that restarts wait.
    BreakerOpened,
    /// Restarts no longer wait for that.
    BreakerClosed,
    /// So few replicas are ready that the pool is below its floor.
    FellBelowFloor,
    /// Enough are ready again.
    CameBackToFloor,
    /// A dependency has failed as often as its threshold says.
    DependencyWentDown,
    /// It passes again.
    DependencyCameBack,
}

impl FleetTransitionKind {
    /// The word for it in status and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BreakerOpened => "BreakerOpened",
            Self::BreakerClosed => "BreakerClosed",
            Self::FellBelowFloor => "FellBelowFloor",
            Self::CameBackToFloor => "CameBackToFloor",
            Self::DependencyWentDown => "DependencyDown",
            Self::DependencyCameBack => "DependencyUp",
        }
    }
}

impl TransitionKind {
    /// The word for it in status, events and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::Admitted => "Admitted",
            Self::Ejected => "Ejected",
            Self::RestartDecided => "RestartDecided",
            Self::Restarted => "Restarted",
            Self::RestartRefused => "RestartRefused",
            Self::LoopBegan => "LoopBegan",
            Self::LoopEnded => "LoopEnded",
            Self::Returned => "Returned",
            Self::DidNotReturn => "RestartDidNotReturn",
            Self::WouldHaveRestarted => "WouldHaveRestarted",
            Self::WouldHaveEjected => "WouldHaveEjected",
            Self::WouldHaveAdmitted => "WouldHaveAdmitted",
            Self::WouldHaveHeld => "WouldHaveHeld",
        }
    }
}
