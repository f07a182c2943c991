//! The conditions of a policy.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// True while the newest spec is in force.
pub const ACCEPTED: &str = "Accepted";
/// True while another policy keeps pods that this one selects.
pub const CONFLICTED: &str = "Conflicted";
/// True while replicas lack the readiness gate that the policy wants.
pub const UNGATED: &str = "Ungated";
/// True while pods are not endpoints of the Service that the policy names.
pub const SERVICE_UNUSABLE: &str = "ServiceUnusable";
/// True while a rule has never been passed by anybody.
pub const NEVER_PASSED: &str = "NeverPassed";
/// True while two beats of a replica do not fit into the time to live.
pub const BEATS_TOO_RARE: &str = "BeatsTooRare";
/// True while periods stretch: a timeout is longer than its period, or there would be too many attempts.
pub const PERIOD_STRETCHED: &str = "PeriodStretched";
/// True while attempts fail by our own fault.
pub const PROBER_ERRORS: &str = "ProberErrors";
/// True while gates are not written in time.
pub const WRITES_LAG: &str = "WritesLag";
/// True while a closed gate has not taken a pod out of the pool.
pub const EJECTION_NOT_EFFECTIVE: &str = "EjectionNotEffective";
/// True while something stands in the way of a restart that a rule wants.
pub const RESTART_HELD: &str = "RestartHeld";
/// True while seats are not restarted any more, since it has not helped.
pub const GAVE_UP: &str = "GaveUp";
/// True while fewer replicas are ready than the pool must have.
pub const BELOW_FLOOR: &str = "BelowFloor";
/// True while restarts wait because many replicas are suspect at once.
pub const BREAKER_OPEN: &str = "BreakerOpen";
/// True while replicas are not ejected or restarted because their neighbours fail with them.
pub const SHARED_FAILURE: &str = "SharedFailure";
/// True while a dependency is down.
pub const DEPENDENCY_DOWN: &str = "DependencyDown";
/// True while replicas are let alone on purpose.
pub const PAUSED: &str = "Paused";
/// True while somebody asks for a pause in a way that makes no sense.
pub const PAUSE_INVALID: &str = "PauseInvalid";
/// True while replicas have not passed what an edit asks, and so are out of the pool or await their turn.
pub const PREPARING: &str = "Preparing";
/// True while seats are in a loop.
pub const LOOPING: &str = "Looping";

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody knows.
    Unknown,
}

impl Holds {
    /// The word for it in a condition's `status`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// What is to be said under one condition type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// One of the types above, or the name of a target problem.
    pub type_: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// Why, in one CamelCase word; not empty.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
    /// The generation of the spec that was looked at.
    pub generation: Option<i64>,
}

/// Writes a finding into a list of conditions. The transition time moves only if `status` changes; conditions of
/// other types stay as they are.
pub fn upsert(conditions: &mut Vec<Condition>, finding: Finding, now: Timestamp) {
    let mut condition = Condition {
        type_: finding.type_.to_owned(),
        status: finding.holds.name().to_owned(),
        reason: finding.reason.to_owned(),
        message: finding.message,
        observed_generation: finding.generation,
        last_transition_time: Time(now),
    };
    match conditions.iter_mut().find(|known| known.type_ == condition.type_) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time = known.last_transition_time.clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(holds: Holds, message: &str) -> Finding {
        Finding { type_: ACCEPTED, holds, reason: "Valid", message: message.to_owned(), generation: Some(2) }
    }

    fn second(n: i64) -> Timestamp {
        Timestamp::from_second(n).unwrap()
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let mut conditions = Vec::new();
        upsert(&mut conditions, finding(Holds::True, "one"), second(1));
        upsert(&mut conditions, finding(Holds::True, "two"), second(2));
        assert_eq!(conditions[0].last_transition_time, Time(second(1)));
        assert_eq!(conditions[0].message, "two");
        upsert(&mut conditions, finding(Holds::False, "three"), second(3));
        assert_eq!(conditions[0].last_transition_time, Time(second(3)));
        assert_eq!(conditions.len(), 1);
    }

    #[test]
    fn conditions_of_others_stay() {
        let mut conditions = Vec::new();
        upsert(&mut conditions, Finding { type_: "Synced", ..finding(Holds::False, "theirs") }, second(1));
        let foreign = conditions.clone();
        upsert(&mut conditions, finding(Holds::True, "ours"), second(2));
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[..1], foreign);
    }
}
