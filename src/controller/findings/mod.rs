//! What is true of a policy as a whole, in the sentences of its conditions.

mod attempts;
mod dependencies;
mod pauses;
mod pool;
mod restarts;
mod service;
#[cfg(test)]
mod tests;

use crate::api::GATE;
use crate::api::conditions::{ACCEPTED, CONFLICTED, Finding, Holds, UNGATED};
use crate::cluster::Index;
use crate::cluster::records::PolicyRecord;
use crate::engine::{PolicyKey, PolicyReport, RuleKind};

pub use dependencies::{down, held_for};

/// So many names are listed in a sentence before it only counts.
const NAMED: usize = 3;

/// Every condition of a policy. Those of [`crate::api::conditions`] are always there, true or not; a target problem
/// is there only while a rule has it.
pub fn findings(index: &Index, policy: PolicyKey, record: &PolicyRecord, report: &PolicyReport) -> Vec<Finding> {
    let in_force = index.in_force(policy);
    let mut claims = vec![
        accepted(record, report),
        pauses::paused(index, record, report),
        pauses::pause_invalid(index, record, report),
        conflicted(index, policy),
        ungated(report),
        service::service_unusable(index, policy, report),
        attempts::never_passed(report),
        attempts::beats_too_rare(in_force, report),
        attempts::period_stretched(in_force, report),
        attempts::prober_errors(report),
        pool::writes_lag(report),
        pool::ejection_not_effective(report),
        restarts::restart_held(index, report),
        restarts::breaker_open(index, policy, report),
        pool::shared_failure(index, report),
        dependencies::dependency_down(index, policy, report),
        pool::below_floor(index, policy, report),
        pool::preparing(in_force, report),
        restarts::looping(index, report),
        restarts::gave_up(index, report),
    ];
    claims.extend(RuleKind::ALL.into_iter().filter_map(|rule| unusable(rule, report)));
    claims.extend(beats_unusable(report));
    claims.into_iter().map(|claim| claim.of(record.generation)).collect()
}

struct Claim {
    type_: &'static str,
    holds: Holds,
    reason: &'static str,
    message: String,
}

impl Claim {
    fn holds(type_: &'static str, reason: &'static str, message: String) -> Self {
        Self { type_, holds: Holds::True, reason, message }
    }

    fn fails(type_: &'static str, reason: &'static str, message: &str) -> Self {
        Self { type_, holds: Holds::False, reason, message: message.to_owned() }
    }

    fn of(self, generation: i64) -> Finding {
        let Self { type_, holds, reason, message } = self;
        Finding { type_, holds, reason, message, generation: Some(generation) }
    }
}

fn accepted(record: &PolicyRecord, report: &PolicyReport) -> Claim {
    let Err(problem) = &record.spec else {
        return Claim::holds(ACCEPTED, "Valid", "the spec is in force".to_owned());
    };
    let consequence = match report.generation {
        Some(generation) => format!("the spec of generation {generation} stays in force"),
        None => "no valid spec is remembered, so the gates of new containers are open".to_owned(),
    };
    Claim::fails(ACCEPTED, "Invalid", &format!("{problem}; {consequence}"))
}

fn conflicted(index: &Index, policy: PolicyKey) -> Claim {
    let lost = index.lost(policy);
    let Some((keeper, replicas)) = lost.first_key_value() else {
        return Claim::fails(CONFLICTED, "NoConflict", "no other policy keeps a pod that this one selects");
    };
    let keeper = index.policy(*keeper).map_or("another", |record| &*record.name.name);
    let pods = list(replicas.iter().filter_map(|replica| index.pod(*replica)).map(|pod| pod.name.name.to_string()));
    let message = format!("the older policy {keeper} keeps {pods}: let no two policies select the same pod");
    Claim::holds(CONFLICTED, "OlderPolicyKeepsPods", message)
}

fn ungated(report: &PolicyReport) -> Claim {
    if report.ungated == 0 {
        return Claim::fails(UNGATED, "AllGated", "every replica has the gate that the policy wants");
    }
    let message = format!(
        "{} of {} replicas have no gate and are never ejected: add `conditionType: {GATE}` to spec.readinessGates of \
         their pod template, which re-creates them",
        report.ungated, report.replicas
    );
    Claim::holds(UNGATED, "GateMissing", message)
}

fn unusable(rule: RuleKind, report: &PolicyReport) -> Option<Claim> {
    let (replicas, problem) = report.rules[rule]?.unusable?;
    let message = format!("the {rule} rule cannot be asked at {replicas} replicas: {problem}");
    Some(Claim::holds(problem.name(), "CannotBeAsked", message))
}

fn beats_unusable(report: &PolicyReport) -> Option<Claim> {
    let (replicas, problem) = report.heartbeat?.unusable?;
    let message = format!("whom the beats of {replicas} replicas speak for cannot be told: {problem}");
    Some(Claim::holds(problem.name(), "CannotBeHeard", message))
}

/// The first names, and how many there are besides.
fn list(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let named = names.join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
