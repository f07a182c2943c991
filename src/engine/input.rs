//! Everything the engine can be told. Inputs are facts; none of them is a request.

use super::{
    AttemptId, DependencyAttempt, DependencyName, Incarnation, IntentId, NodeKey, Outcome, OwnerKey, PerRule, Policy,
    PolicyKey, ReplicaKey, RevisionKey, RuleKind, SeatKey, Slot, Span, StartupTimes, Time,
};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// First lists are complete and what was remembered has been told: from now on the engine decides.
    Synced,
    /// A policy appeared or changed.
    PolicySet {
        /// Which.
        policy: PolicyKey,
        /// What it asks for now.
        spec: Box<Policy>,
    },
    /// A policy's object no longer makes sense. The last valid one stays in force; with none remembered, gates open.
    PolicyInvalid {
        /// Which.
        policy: PolicyKey,
    },
    /// A policy is gone.
    PolicyRemoved {
        /// Which.
        policy: PolicyKey,
    },
    /// The rules of this policy that somebody once passed, from before this engine.
    PassedBefore {
        /// Which policy.
        policy: PolicyKey,
        /// Rule by rule, for the question the policy asks now.
        rules: PerRule<bool>,
    },
    /// A dependency of this policy has once passed what it is asked now, from before this engine.
    DependencyPassedBefore {
        /// Which policy.
        policy: PolicyKey,
        /// Which dependency.
        dependency: DependencyName,
    },
    /// How much of the restart budget an earlier engine had spent.
    BudgetRestored {
        /// Whose.
        policy: PolicyKey,
        /// When it would be whole again.
        whole_at: Time,
    },
    /// How long the replicas of a revision took to start, as an earlier engine saw it; the oldest revision first.
    StartupsRestored {
        /// Under which policy.
        policy: PolicyKey,
        /// Of which revision.
        revision: Option<RevisionKey>,
        /// How long.
        times: StartupTimes,
    },
    /// A seat as an earlier engine left it.
    SeatRestored {
        /// The policy that remembered it.
        policy: PolicyKey,
        /// The seat.
        seat: SeatKey,
        /// What was remembered.
        memory: SeatMemory,
    },
    /// A replica as it is now. Told again whenever anything in it changes.
    ReplicaSeen {
        /// Which.
        replica: ReplicaKey,
        /// All that is known of it.
        seen: Box<Observation>,
    },
    /// A replica is gone.
    ReplicaGone {
        /// Which.
        replica: ReplicaKey,
    },
    /// An owner of replicas as it is now.
    OwnerSeen {
        /// Which.
        owner: OwnerKey,
        /// What is known of it.
        seen: Owner,
    },
    /// A node as it is now.
    NodeSeen {
        /// Which.
        node: NodeKey,
        /// Its own condition.
        state: NodeState,
    },
    /// A replica said by itself that it is there.
    Beat {
        /// Which.
        replica: ReplicaKey,
    },
    /// A replica said by itself that it goes.
    Deregistered {
        /// Which.
        replica: ReplicaKey,
    },
    /// Somebody has beaten under this policy, from before this engine.
    BeatBefore {
        /// Which policy.
        policy: PolicyKey,
    },
    /// Beats until then may not reach the engine: no silence counts from before that. The latest word holds.
    Deaf {
        /// Until when.
        until: Time,
    },
    /// An attempt ended.
    AttemptFinished {
        /// Which.
        attempt: AttemptId,
        /// How.
        outcome: Outcome,
    },
    /// An attempt at a dependency ended.
    DependencyAnswered {
        /// Which.
        attempt: DependencyAttempt,
        /// How; it passes if any of those passes that stand for it.
        outcome: Outcome,
    },
    /// A gate was written, or not.
    GateResult {
        /// Whose.
        replica: ReplicaKey,
        /// How it went.
        result: EffectResult,
    },
    /// An intent was written, or not.
    IntentResult {
        /// Which.
        intent: IntentId,
        /// How it went.
        result: EffectResult,
    },
    /// A restart was carried out, or not.
    RestartResult {
        /// The policy that wanted it.
        policy: PolicyKey,
        /// Whose.
        replica: ReplicaKey,
        /// How it went.
        result: EffectResult,
    },
}

/// All that is known of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The policy that keeps it: the oldest of those that select it.
    pub policy: Option<PolicyKey>,
    /// Who created it; `None` for one that nobody would create again.
    pub owner: Option<OwnerKey>,
    /// Its place under that owner.
    pub place: Place,
    /// The template it was made from; `None` where its owner does not tell templates apart.
    pub revision: Option<RevisionKey>,
    /// Where it runs; `None` before it is scheduled.
    pub node: Option<NodeKey>,
    /// Whether it is being ended.
    pub lifecycle: Lifecycle,
    /// Until when it is let alone; `None`, or a time that is over: it is not.
    pub paused_until: Option<Time>,
    /// What the pool follows: in a cluster the pod's own `Ready` condition, or that of its endpoints in our slices.
    pub ready: Readiness,
    /// Its gate as last seen: the pod's own, or its endpoints in our slices.
    pub gate: GateSeen,
    /// What each rule of its policy would ask; `None` where the policy has no such rule.
    pub targets: PerRule<Option<Target>>,
    /// Which container its beats speak for; `None` if its policy has no heartbeat rule.
    pub heartbeat: Option<Target>,
    /// The stable number that spreads this replica's attempts.
    pub spread: u64,
    /// When it was created, by the API server's clock.
    pub created: Time,
}

/// A replica's place under its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The owner gives places that outlive the replica.
    Fixed(Slot),
    /// The owner does not: the engine assigns a seat.
    Any,
}

/// Whether a replica is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// It is meant to run.
    Live,
    /// It is being ended: in no ratio, no attempts, its gate is left alone.
    Terminating,
}

/// Whether the pool takes a replica for ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It does.
    Ready,
    /// It does not.
    NotReady,
}

/// A replica's gate as last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateSeen {
    /// The replica has no gate and cannot get one.
    Ungated,
    /// It has a gate that was never written.
    Unset,
    /// It was written.
    Set(Gate),
}

/// The two positions of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// The replica may be in the pool.
    Open,
    /// It may not.
    Closed,
}

/// What a rule would ask at this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A container.
    Container(Container),
    /// Nothing can be asked: the rule counts as absent for this replica.
    Unusable(TargetProblem),
}

/// A container that a rule means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// Which container ID.
    pub incarnation: Incarnation,
    /// What it does now.
    pub state: ContainerState,
    /// Its verdict as an earlier engine left it; only ever of this very container ID.
    pub remembered: Option<Remembered>,
}

/// What a container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// It runs.
    Running {
        /// Since when, by the node's clock; the engine clamps it to what it saw itself.
        since: Time,
    },
    /// It does not run (yet, or any more).
    Down,
    /// It does not run, and whoever runs it waits before starting it again (the kubelet's crash-loop backoff).
    BackingOff,
}

/// The verdict on a container as an earlier engine left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// It had passed startup. Readiness is remembered by the gate itself.
    pub started: bool,
}

/// Why a rule cannot be asked at a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetProblem {
    /// Several containers, and nothing says which one is meant.
    AmbiguousContainer,
    /// No container of that name.
    UnknownContainer,
    /// No port of that name.
    UnknownPort,
    /// The pod uses its node's network and does not declare the port.
    UndeclaredHostPort,
    /// The pod has addresses, but not those that are meant.
    UnknownAddress,
}

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// What it is, as far as it matters for a restart.
    pub kind: OwnerKind,
    /// How many replicas it wants; 0 once it is being deleted or gone.
    pub desired: u32,
    /// The ordinal of its first replica, where replicas have one.
    pub first: u32,
}

/// What an owner is, as far as it matters for a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerKind {
    /// Creates a replacement by itself: ReplicaSet, ReplicationController, DaemonSet, StatefulSet in parallel.
    Recreates,
    /// StatefulSet that waits for each lower ordinal to be Ready.
    RecreatesInOrder,
    /// Replaces replicas only when somebody else deletes them on purpose (`OnDelete`).
    OnDelete,
    /// A Job: a deleted pod is a failed run.
    Job,
    /// Anything else.
    Other,
}

/// A node's own condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It reports.
    Ready,
    /// It does not: nothing would carry out a restart there.
    NotReady,
}

/// How an effect went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectResult {
    /// It was acknowledged.
    Applied,
    /// It was refused and has not happened.
    Refused(Refusal),
    /// Nobody knows. Taken as done until the world disproves it.
    Unknown,
}

/// Why an effect was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A disruption budget does not allow it now (429).
    Budget,
    /// What it was decided for has changed (409), or is gone (404).
    Changed,
    /// We lack the right (403), or admission says no.
    Forbidden,
    /// The API server did not take it for another reason.
    Failed,
}

/// What a seat remembers across its replicas, and across engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatMemory {
    /// Our restarts since the count began anew.
    pub restarts: u32,
    /// Restarts by others (the kubelet) since then.
    pub foreign: u32,
    /// Our restarts in a row that did not help.
    pub futile: u32,
    /// Restarts of either kind in a row, up to the last, of a replica that had not finished starting.
    pub cut_short: u32,
    /// The rule that wanted the last of ours.
    pub last_rule: Option<RuleKind>,
    /// When the last restart of either kind was ordered or seen.
    pub last: Option<Time>,
    /// The restart in flight.
    pub intent: Option<Intent>,
    /// Who sits there now, if that is known.
    pub occupant: Option<ReplicaKey>,
}

/// A restart that was decided and written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Who is restarted; `None`, for an intent that was restored, if that replica is gone or being ended.
    pub replica: Option<ReplicaKey>,
    /// The rule that wants it.
    pub rule: RuleKind,
    /// When it was decided.
    pub at: Time,
    /// How far it has come.
    pub stage: IntentStage,
}

/// How far a restart has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentStage {
    /// Decided, and perhaps written down; nobody has been asked to carry it out.
    Recorded,
    /// Somebody was asked to carry it out; the answer is not known.
    Ordered,
    /// Carried out, and counted in [`SeatMemory::restarts`]; the seat is to come back.
    CarriedOut,
}

impl Refusal {
    /// How long to wait before trying again after `tries` refusals in a row: doubling from a second to half a minute.
    pub fn retry_after(tries: u32) -> Span {
        Span::from_secs(1u64 << tries.min(5)).min(Span::from_secs(30))
    }
}
