//! What keeps a decision from being carried out.

use std::fmt;

use super::{DependencyName, OutcomeClass, Refusal, Span, Time};

/// What stands in the way of a restart, or of an ejection, that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// As many seats as allowed are in a restart.
    MaxConcurrent {
        /// How many are allowed.
        allowed: u32,
    },
    /// The fleet has had all the restarts that it may have for now.
    RestartBudget {
        /// How many it may have.
        restarts: u32,
        /// In how long.
        per: Span,
        /// When it may have another.
        next: Time,
    },
    /// The seat waits before its next restart.
    Backoff {
        /// How long in all.
        wait: Span,
    },
    /// Nobody has passed this rule yet, so it proves nothing about the replica.
    NeverPassed,
    /// The replica is not under an owner that would create it again.
    NotRecreated,
    /// The owner is deleted, or wants fewer replicas.
    ScaledDown,
    /// The owner replaces replicas only when they are deleted on purpose.
    OnDelete,
    /// A lower ordinal is not Ready, so the owner would not create this one.
    LowerOrdinalNotReady,
    /// The node does not report.
    NodeNotReady,
    /// The container is in the kubelet's crash-loop backoff, which a new pod would lose.
    KubeletBackoff,
    /// Restarts of the seat have not helped so often in a row that there are no more.
    GaveUp {
        /// How often.
        times: u32,
    },
    /// So many replicas are suspect that restarts wait.
    Breaker {
        /// Of which replicas.
        among: Among,
        /// Judged replicas that fail.
        suspect: u32,
        /// Judged replicas.
        judged: u32,
    },
    /// Fewer replicas are ready than the pool must have.
    Floor {
        /// Replicas that their own rules let in.
        ready: u32,
        /// How many there must be.
        floor: u32,
    },
    /// It has been in the pool for too short.
    Dwell {
        /// How long it stays in all.
        span: Span,
    },
    /// Its neighbours fail that rule alike, so the failure is not this replica's own.
    SharedFailure {
        /// Which neighbours.
        among: Among,
        /// Judged replicas that fail alike.
        failing: u32,
        /// Judged replicas.
        judged: u32,
        /// How its own latest attempt failed, if it did.
        last: Option<OutcomeClass>,
    },
    /// A dependency of all replicas fails, or did when this failure was heard.
    DependencyDown {
        /// Which.
        dependency: DependencyName,
        /// How it failed last.
        last: Option<OutcomeClass>,
    },
    /// A dependency of all replicas is to be asked first.
    DependencyAsked {
        /// Which.
        dependency: DependencyName,
        /// By an attempt that begins then or later.
        since: Time,
    },
    /// The API server said no.
    Refused(Refusal),
}

/// Among which replicas a failure is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Among {
    /// All judged ones of the policy.
    Fleet,
    /// Those of one node, which no connection reaches.
    Node,
    /// Those of one revision.
    Revision,
    /// Those of one revision, as to whether they start.
    Starting,
}

impl Obstacle {
    /// The dependency that it is about.
    pub const fn dependency(self) -> Option<DependencyName> {
        if let Self::DependencyDown { dependency, .. } | Self::DependencyAsked { dependency, .. } = self {
            return Some(dependency);
        }
        None
    }

    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxConcurrent { .. } => "MaxConcurrent",
            Self::RestartBudget { .. } => "RestartBudget",
            Self::Backoff { .. } => "Backoff",
            Self::NeverPassed => "NeverPassed",
            Self::NotRecreated => "NotRecreated",
            Self::ScaledDown => "ScaledDown",
            Self::OnDelete => "OnDelete",
            Self::LowerOrdinalNotReady => "LowerOrdinalNotReady",
            Self::NodeNotReady => "NodeNotReady",
            Self::KubeletBackoff => "KubeletBackoff",
            Self::GaveUp { .. } => "GaveUp",
            Self::Breaker { among: Among::Fleet, .. } => "BreakerOpen",
            Self::Breaker { among: Among::Node, .. } => "NodeUnreachable",
            Self::Breaker { among: Among::Revision, .. } => "BadRevision",
            Self::Breaker { among: Among::Starting, .. } => "RevisionDoesNotStart",
            Self::Floor { .. } => "BelowFloor",
            Self::Dwell { .. } => "Dwell",
            Self::SharedFailure { .. } => "SharedFailure",
            Self::DependencyDown { .. } => "DependencyDown",
            Self::DependencyAsked { .. } => "DependencyAsked",
            Self::Refused(Refusal::Budget) => "BlockedByBudget",
            Self::Refused(Refusal::Changed) => "Changed",
            Self::Refused(Refusal::Forbidden) => "Forbidden",
            Self::Refused(Refusal::Failed) => "Failed",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxConcurrent { allowed } => write!(f, "{allowed} may be in a restart at once"),
            Self::RestartBudget { restarts, per, .. } => {
                write!(f, "the budget of {restarts} restarts in {per} is spent")
            }
            Self::Backoff { wait } => write!(f, "its seat waits {wait} after its last restart"),
            Self::NeverPassed => f.write_str("no replica has passed that rule yet"),
            Self::NotRecreated => f.write_str("nothing would create it again"),
            Self::ScaledDown => f.write_str("its owner is deleted or wants fewer replicas"),
            Self::OnDelete => f.write_str("its owner updates OnDelete"),
            Self::LowerOrdinalNotReady => f.write_str("a lower ordinal is not Ready"),
            Self::NodeNotReady => f.write_str("its node is not Ready"),
            Self::KubeletBackoff => f.write_str("its container is in the kubelet's crash-loop backoff"),
            Self::GaveUp { times } => write!(f, "restarting has not helped {times} of {times} times"),
            Self::Breaker { among: Among::Fleet, suspect, judged } => {
                write!(f, "the breaker is open, with {suspect} of {judged} judged replicas suspect")
            }
            Self::Breaker { among: Among::Node, suspect, judged } => {
                write!(f, "its node's breaker is open, with {suspect} of {judged} judged replicas there unreachable")
            }
            Self::Breaker { among: Among::Revision, suspect, judged } => {
                write!(f, "its revision's breaker is open, with {suspect} of {judged} judged replicas suspect")
            }
            Self::Breaker { among: Among::Starting, suspect, judged } => {
                write!(f, "its revision's breaker is open, with {suspect} of {judged} judged replicas failing to start")
            }
            Self::Floor { ready, floor } => {
                write!(f, "{} ready, and the pool must have {floor}", replicas(*ready))
            }
            Self::Dwell { span } => write!(f, "it stays in the pool for {span} once it is let in"),
            Self::SharedFailure { among, failing, judged, last } => {
                write!(f, "the failure is shared by {failing} of {judged} replicas")?;
                if *among == Among::Node {
                    f.write_str(" on its node")?;
                }
                last.map_or(Ok(()), |last| write!(f, ": {last}"))
            }
            Self::DependencyDown { dependency, last } => {
                write!(f, "dependency {dependency} fails")?;
                last.map_or(Ok(()), |last| write!(f, ": {last}"))
            }
            Self::DependencyAsked { dependency, .. } => write!(f, "dependency {dependency} is asked first"),
            Self::Refused(refusal) => write!(f, "{refusal}"),
        }
    }
}

/// So many of them, as the subject of a sentence.
pub(super) fn replicas(n: u32) -> String {
    match n {
        0 => "no replica is".to_owned(),
        1 => "1 replica is".to_owned(),
        _ => format!("{n} replicas are"),
    }
}
