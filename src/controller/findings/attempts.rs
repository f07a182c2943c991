//! What the rules ask, and whether that makes sense.

use super::Claim;
use crate::api::ParsedPolicy;
use crate::api::conditions::{BEATS_TOO_RARE, NEVER_PASSED, PERIOD_STRETCHED, PROBER_ERRORS};
use crate::engine::{PolicyReport, RuleKind, Span};

pub(super) fn never_passed(report: &PolicyReport) -> Claim {
    let rules = RuleKind::ALL.into_iter().filter(|rule| report.rules[*rule].is_some_and(|rule| !rule.ever_passed));
    let rules: Vec<_> = rules.map(RuleKind::name).collect();
    let nobody_beat = report.heartbeat.is_some_and(|heartbeat| !heartbeat.ever_beat);
    if rules.is_empty() && nobody_beat {
        let message = "no replica has sent a beat yet: until one does, the heartbeat rule ejects nothing that is in \
                       the pool; check names, labels and rights of the Leases";
        return Claim::holds(NEVER_PASSED, "NoBeatYet", message.to_owned());
    }
    if rules.is_empty() {
        return Claim::fails(NEVER_PASSED, "EveryRulePassed", "every rule was passed by some replica");
    }
    let message = format!(
        "nobody has passed yet what this policy asks under {}: until then it restarts nothing and ejects nothing that \
         is in the pool; check port and path",
        rules.join(" and ")
    );
    Claim::holds(NEVER_PASSED, "NoPassYet", message)
}

pub(super) fn beats_too_rare(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
    let heartbeat = in_force.and_then(|spec| spec.policy.heartbeat);
    let rare = report.heartbeat.and_then(|heartbeat| heartbeat.rare);
    let Some((heartbeat, (replicas, interval))) = heartbeat.zip(rare) else {
        return Claim::fails(BEATS_TOO_RARE, "BeatsFit", "two beats or more come in a time to live");
    };
    // To the second: the sentence is in the status, and must not change with every beat.
    let interval = Span::from_secs(interval.as_nanos().div_ceil(1_000_000_000));
    let message = format!(
        "{replicas} replicas beat every {interval} or so, and a beat counts for {}: one that is lost or late ejects a \
         replica that is well; let them beat more often, or raise spec.heartbeat.timeToLive",
        heartbeat.time_to_live
    );
    Claim::holds(BEATS_TOO_RARE, "LessThanTwoBeats", message)
}

/// By its own timeout, or by the ceiling on all attempts.
pub(super) fn period_stretched(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
    let rules = in_force
        .into_iter()
        .flat_map(|spec| RuleKind::ALL.into_iter().filter_map(|kind| spec.policy.rule(kind).map(|rule| (kind, rule))));
    let by_timeouts = rules.filter(|(_, rule)| rule.timeout > rule.period).map(|(kind, rule)| {
        let detected = rule.timeout * (u64::from(rule.failure_threshold.get()) + 1);
        format!(
            "the {kind} rule's timeout ({}) is longer than its period ({}), so a silent replica is asked every {} \
                 and detected within {detected}",
            rule.timeout, rule.period, rule.timeout
        )
    });
    let by_ceiling = report.stretched.map(|stretched| stretched.to_string());
    let stretched: Vec<_> = by_ceiling.into_iter().chain(by_timeouts).collect();
    let reason = match (report.stretched, stretched.is_empty()) {
        (Some(_), _) => "AttemptCeiling",
        (None, false) => "TimeoutExceedsPeriod",
        (None, true) => return Claim::fails(PERIOD_STRETCHED, "TimeoutsFit", "no timeout is longer than its period"),
    };
    Claim::holds(PERIOD_STRETCHED, reason, stretched.join("; "))
}

pub(super) fn prober_errors(report: &PolicyReport) -> Claim {
    let replicas: u32 = RuleKind::ALL.into_iter().filter_map(|rule| report.rules[rule]).map(|r| r.prober_errors).sum();
    if replicas == 0 {
        return Claim::fails(PROBER_ERRORS, "None", "attempts are carried out");
    }
    let message = format!(
        "attempts at {replicas} rules of replicas keep failing on the controller's side and count for nothing: see its log"
    );
    Claim::holds(PROBER_ERRORS, "AttemptsFailOnOurSide", message)
}
