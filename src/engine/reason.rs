//! Why: reasons are data, and one function makes the sentence that log, event, status and report share.

use std::fmt;

use super::obstacle::replicas;
use super::{Among, DependencyName, Obstacle, OutcomeClass, Refusal, RuleKind, Span, TargetProblem};

/// Why a gate stands as it does, or why something was done or not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The policy observes.
    Observing,
    /// The policy is paused.
    Paused,
    /// The replica is paused.
    ReplicaPaused,
    /// The policy makes no sense and no valid one is remembered.
    InvalidPolicy,
    /// No policy selects the replica any more.
    NoPolicy,
    /// The policy has no rule that would keep the replica out.
    NoRule,
    /// The rule cannot be asked here.
    Unusable {
        /// Which.
        rule: RuleKind,
        /// Why.
        problem: TargetProblem,
    },
    /// The container does not run.
    NotRunning,
    /// The startup rule has not passed yet.
    Starting,
    /// Readiness has not been judged yet.
    NotJudged,
    /// A rule passes.
    Passed {
        /// Which.
        rule: RuleKind,
        /// Passes in a row.
        streak: u32,
    },
    /// A rule fails.
    Failed {
        /// Which.
        rule: RuleKind,
        /// Failures in a row.
        streak: u32,
        /// Failures in a row that it takes.
        threshold: u32,
        /// The last outcome.
        last: OutcomeClass,
    },
    /// It says by itself that it is there.
    Beating,
    /// Its container has not beaten yet.
    NoBeatYet,
    /// It has been silent for a whole time to live.
    NoBeat {
        /// For how long a beat counts.
        time_to_live: Span,
    },
    /// It has said that it goes.
    Deregistered,
    /// It has been silent, but cannot be ejected now.
    HeldWithoutBeat {
        /// What stands in the way.
        by: Obstacle,
    },
    /// A rule fails, by failures that are not in a row.
    FailedOften {
        /// Which.
        rule: RuleKind,
        /// How many.
        failures: u32,
        /// Among so many attempts.
        attempts: u32,
        /// The last outcome.
        last: OutcomeClass,
    },
    /// A rule passes, but the replica has been out of the pool for too short.
    Dwells {
        /// Which.
        rule: RuleKind,
        /// How long it stays out in all.
        span: Span,
    },
    /// An edit changed what the rule asks, and it has not passed that yet.
    Preparing {
        /// Which.
        rule: RuleKind,
    },
    /// The same, and it keeps its place until its turn.
    AwaitsTurn {
        /// Which.
        rule: RuleKind,
    },
    /// As an earlier engine left it.
    Remembered,
    /// A restart, or an ejection, that a rule wants cannot be done now.
    Held {
        /// The rule that wants it.
        rule: RuleKind,
        /// What stands in its way.
        by: Obstacle,
    },
    /// The seat was restarted so often.
    Loop {
        /// Our restarts.
        restarts: u32,
        /// Restarts by the kubelet.
        foreign: u32,
        /// The rule that restarted last.
        rule: Option<RuleKind>,
    },
    /// The seat went without a restart for so long.
    Quiet {
        /// How long.
        span: Span,
    },
    /// The seat came back after so long.
    Returned {
        /// From the decision.
        after: Span,
    },
    /// The seat did not come back in so long.
    DidNotReturn {
        /// The deadline.
        deadline: Span,
    },
    /// So many replicas are suspect.
    Suspects {
        /// Of which replicas.
        among: Among,
        /// Judged replicas that fail.
        suspect: u32,
        /// Judged replicas.
        judged: u32,
    },
    /// Fewer were suspect for so long.
    Calm {
        /// How long.
        span: Span,
    },
    /// Fewer replicas are ready than the pool must have.
    BelowFloor {
        /// Replicas that their own rules let in.
        ready: u32,
        /// How many there must be.
        floor: u32,
    },
    /// Enough were ready for so long.
    Enough {
        /// How long.
        span: Span,
    },
    /// A dependency fails.
    DependencyFails {
        /// Which.
        dependency: DependencyName,
        /// Failures in a row.
        streak: u32,
        /// The last outcome.
        last: Option<OutcomeClass>,
    },
    /// A dependency passes again.
    DependencyPasses {
        /// Which.
        dependency: DependencyName,
        /// For how long it was down.
        after: Span,
    },
    /// An edit switched it off.
    SwitchedOff,
}

impl Reason {
    /// Whether it is what the attempts of a rule came to.
    pub(super) const fn was_heard(self) -> bool {
        matches!(self, Self::Passed { .. } | Self::Failed { .. } | Self::FailedOften { .. })
    }

    /// The dependency for whose sake a replica is held.
    pub(super) const fn dependency(self) -> Option<DependencyName> {
        let Self::Held { by, .. } = self else { return None };
        by.dependency()
    }

    /// One word for it, as a condition's or an event's `reason`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Observing => "Observing",
            Self::Paused => "Paused",
            Self::ReplicaPaused => "ReplicaPaused",
            Self::InvalidPolicy => "InvalidPolicy",
            Self::NoPolicy => "NoPolicy",
            Self::NoRule => "NoRule",
            Self::Unusable { problem, .. } => problem.name(),
            Self::NotRunning => "NotRunning",
            Self::Starting => "Starting",
            Self::NotJudged => "NotJudged",
            Self::Passed { .. } => "RulePassed",
            Self::Failed { .. } => "RuleFailed",
            Self::Beating => "Beating",
            Self::NoBeatYet => "NoBeatYet",
            Self::NoBeat { .. } => "NoBeat",
            Self::Deregistered => "Deregistered",
            Self::FailedOften { .. } => "RuleFailedOften",
            Self::Dwells { .. } => "Dwell",
            Self::Preparing { .. } => "Preparing",
            Self::AwaitsTurn { .. } => "AwaitsTurn",
            Self::Remembered => "Remembered",
            Self::Held { by, .. } | Self::HeldWithoutBeat { by } => by.name(),
            Self::Loop { .. } => "RestartLoop",
            Self::Quiet { .. } => "Quiet",
            Self::Returned { .. } => "Returned",
            Self::DidNotReturn { .. } => "RestartDidNotReturn",
            Self::Suspects { .. } => "Suspects",
            Self::Calm { .. } => "Calm",
            Self::BelowFloor { .. } => "BelowFloor",
            Self::Enough { .. } => "Enough",
            Self::DependencyFails { .. } => "DependencyFails",
            Self::DependencyPasses { .. } => "DependencyPasses",
            Self::SwitchedOff => "SwitchedOff",
        }
    }
}

impl TargetProblem {
    /// One word for it, also the condition's type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AmbiguousContainer => "AmbiguousContainer",
            Self::UnknownContainer => "UnknownContainer",
            Self::UnknownPort => "UnknownPort",
            Self::UndeclaredHostPort => "UndeclaredHostPort",
            Self::UnknownAddress => "UnknownAddress",
        }
    }
}

/// The sentence, without a full stop.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observing => f.write_str("the policy observes, so the gate is open"),
            Self::Paused => f.write_str("the policy is paused"),
            Self::ReplicaPaused => f.write_str("the replica is paused"),
            Self::InvalidPolicy => f.write_str("the policy is invalid and no valid one is remembered"),
            Self::NoPolicy => f.write_str("no policy selects this replica"),
            Self::NoRule => f.write_str("no rule keeps this replica out"),
            Self::Unusable { rule, problem } => write!(f, "the {rule} rule cannot be asked: {problem}"),
            Self::NotRunning => f.write_str("the container is not running"),
            Self::Starting => f.write_str("the startup rule has not passed yet"),
            Self::NotJudged => f.write_str("the readiness rule has no result yet"),
            Self::Passed { rule, streak } => write!(f, "the {rule} rule passed {}", times(*streak)),
            Self::Failed { rule, streak, threshold, last } => {
                write!(f, "the {rule} rule failed {streak} of {threshold} times in a row, last: {last}")
            }
            Self::Beating => f.write_str("it says that it is there"),
            Self::NoBeatYet => f.write_str("it has not sent a beat yet"),
            Self::NoBeat { time_to_live } => write!(f, "no beat came for {time_to_live}"),
            Self::Deregistered => f.write_str("it has deregistered"),
            Self::HeldWithoutBeat { by } => write!(f, "the heartbeat rule wants an ejection, but {by}"),
            Self::FailedOften { rule, failures, attempts, last } => {
                write!(f, "the {rule} rule failed {failures} of its latest {attempts} attempts, last: {last}")
            }
            Self::Dwells { rule, span } => {
                write!(f, "the {rule} rule passes, but after an ejection it stays out of the pool for {span}")
            }
            Self::Preparing { rule } => {
                write!(f, "an edit changed what the {rule} rule asks, and that has not passed yet")
            }
            Self::AwaitsTurn { rule } => {
                write!(f, "an edit changed what the {rule} rule asks, and others are to pass that first")
            }
            Self::Remembered => f.write_str("as it was before this controller started"),
            Self::Held { rule: rule @ RuleKind::Readiness, by } => {
                write!(f, "the {rule} rule wants an ejection, but {by}")
            }
            Self::Held { rule, by } => write!(f, "the {rule} rule wants a restart, but {by}"),
            Self::Loop { restarts, foreign, rule } => {
                write!(f, "restarted {}", times(*restarts))?;
                if *foreign > 0 {
                    write!(f, " by us and {} by the kubelet", times(*foreign))?;
                }
                match rule {
                    Some(rule) => write!(f, ", last by the {rule} rule"),
                    None => Ok(()),
                }
            }
            Self::Quiet { span } => write!(f, "no restart for {span}"),
            Self::Returned { after } => write!(f, "judged well {after} after the restart was decided"),
            Self::DidNotReturn { deadline } => write!(f, "not judged well within {deadline} of the restart"),
            Self::Suspects { among: Among::Fleet, suspect, judged } => {
                write!(f, "{suspect} of {judged} judged replicas failed their latest liveness attempt")
            }
            Self::Suspects { among: Among::Node, suspect, judged } => {
                write!(f, "no connection to {suspect} of {judged} judged replicas of one node")
            }
            Self::Suspects { among: Among::Revision, suspect, judged } => {
                write!(f, "{suspect} of {judged} judged replicas of one revision failed their latest liveness attempt")
            }
            Self::Suspects { among: Among::Starting, suspect, judged } => {
                write!(f, "{suspect} of {judged} judged replicas of one revision failed to start")
            }
            Self::Calm { span } => write!(f, "fewer replicas were suspect for {span}"),
            Self::BelowFloor { ready, floor } => {
                write!(f, "{} ready, and the pool must have {floor}", replicas(*ready))
            }
            Self::Enough { span } => write!(f, "enough replicas were ready for {span}"),
            Self::DependencyFails { dependency, streak, last } => {
                write!(f, "dependency {dependency} failed {}", times(*streak))?;
                last.map_or(Ok(()), |last| write!(f, ", last: {last}"))
            }
            Self::DependencyPasses { dependency, after } => {
                write!(f, "dependency {dependency} passes again after {after}")
            }
            Self::SwitchedOff => f.write_str("an edit switched it off"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "a disruption budget does not allow it now",
            Self::Changed => "the replica changed meanwhile",
            Self::Forbidden => "the API server forbids it",
            Self::Failed => "the API server did not take it",
        })
    }
}

impl fmt::Display for TargetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AmbiguousContainer => "the pod has several containers and nothing says which one is meant",
            Self::UnknownContainer => "the pod has no container of that name",
            Self::UnknownPort => "the container has no port of that name",
            Self::UndeclaredHostPort => "the pod uses its node's network and does not declare the port",
            Self::UnknownAddress => "the pod has no address of the family that is meant",
        })
    }
}

fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{n} times"),
    }
}
