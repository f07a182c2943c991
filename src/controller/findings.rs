//! What is true of a policy as a whole, in the sentences of its conditions.

use std::collections::BTreeMap;

use crate::api::conditions::{
    ACCEPTED, BEATS_TOO_RARE, BELOW_FLOOR, BREAKER_OPEN, CONFLICTED, EJECTION_NOT_EFFECTIVE, Finding, GAVE_UP, Holds,
    LOOPING, NEVER_PASSED, PAUSE_INVALID, PAUSED, PERIOD_STRETCHED, PREPARING, PROBER_ERRORS, RESTART_HELD,
    SHARED_FAILURE, UNGATED, WRITES_LAG,
};
use k8s_openapi::jiff::Unit;

use crate::api::{GATE, ParsedPolicy};
use crate::cluster::Index;
use crate::cluster::records::PolicyRecord;
use crate::engine::{
    Among, BreakerReport, FloorReport, Gate, Lifecycle, Obstacle, OnPolicyChange, Part, PartReport, Pause, PolicyKey,
    PolicyReport, Reason, Refusal, RuleKind, SeatReport, Span, Trial, WhenBelow,
};
use crate::runtime::timestamp;

/// So many names are listed in a sentence before it only counts.
const NAMED: usize = 3;

/// Every condition of a policy. Those of [`crate::api::conditions`] are always there, true or not; a target problem
/// is there only while a rule has it.
pub fn findings(index: &Index, policy: PolicyKey, record: &PolicyRecord, report: &PolicyReport) -> Vec<Finding> {
    let in_force = index.in_force(policy);
    let mut claims = vec![
        accepted(record, report),
        paused(index, record, report),
        pause_invalid(index, record, report),
        conflicted(index, policy),
        ungated(report),
        never_passed(report),
        beats_too_rare(in_force, report),
        period_stretched(in_force, report),
        prober_errors(report),
        writes_lag(report),
        ejection_not_effective(report),
        restart_held(index, report),
        breaker_open(index, policy, report),
        shared_failure(index, report),
        below_floor(index, policy, report),
        preparing(in_force, report),
        looping(index, report),
        gave_up(index, report),
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

fn paused(index: &Index, record: &PolicyRecord, report: &PolicyReport) -> Claim {
    match report.pause {
        Some(Pause::Mode) => {
            return Claim::holds(PAUSED, "Mode", "no attempts are made until the mode is another".to_owned());
        }
        Some(Pause::Policy { .. } | Pause::Replica { .. }) => {
            let note = record.pause.as_ref().and_then(|note| note.as_ref().ok());
            let message = note.map_or_else(|| "no attempts are made".to_owned(), |note| format!("no attempts {note}"));
            return Claim::holds(PAUSED, "Policy", message);
        }
        None => {}
    }
    let paused = report.replica_reports.iter().filter(|replica| replica.pause.is_some()).filter_map(|replica| {
        let pod = index.pod(replica.replica)?;
        let note = pod.pause.as_deref()?.as_ref().ok()?;
        Some(format!("{} {note}", pod.name.name))
    });
    let paused = list(paused);
    if paused.is_empty() {
        return Claim::fails(PAUSED, "None", "nobody is paused");
    }
    Claim::holds(PAUSED, "Pods", format!("no attempts at {paused}"))
}

fn pause_invalid(index: &Index, record: &PolicyRecord, report: &PolicyReport) -> Claim {
    let of_policy = record.pause.as_ref().and_then(|pause| pause.as_ref().err()).map(ToString::to_string);
    let of_pods = report.replica_reports.iter().filter_map(|replica| {
        let pod = index.pod(replica.replica)?;
        let error = pod.pause.as_deref()?.as_ref().err()?;
        Some(format!("{}: {error}", pod.name.name))
    });
    let invalid = list(of_policy.into_iter().chain(of_pods));
    if invalid.is_empty() {
        return Claim::fails(PAUSE_INVALID, "None", "every pause that is asked for can be read");
    }
    Claim::holds(PAUSE_INVALID, "NoInstant", format!("not paused, since {invalid}"))
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

fn never_passed(report: &PolicyReport) -> Claim {
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

/// By its own timeout, or by the ceiling on all attempts.
fn beats_too_rare(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
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

fn period_stretched(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
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

fn prober_errors(report: &PolicyReport) -> Claim {
    let replicas: u32 = RuleKind::ALL.into_iter().filter_map(|rule| report.rules[rule]).map(|r| r.prober_errors).sum();
    if replicas == 0 {
        return Claim::fails(PROBER_ERRORS, "None", "attempts are carried out");
    }
    let message = format!(
        "attempts at {replicas} rules of replicas keep failing on the controller's side and count for nothing: see its log"
    );
    Claim::holds(PROBER_ERRORS, "AttemptsFailOnOurSide", message)
}

fn writes_lag(report: &PolicyReport) -> Claim {
    if report.unwritten == 0 {
        return Claim::fails(WRITES_LAG, "None", "every gate is written as it was decided");
    }
    let message = format!(
        "{} gates are not written yet as they were decided, one of them for {}: ejections go first; is the API server \
         slow, or --max-writes-per-second too low?",
        report.unwritten, report.write_lag
    );
    Claim::holds(WRITES_LAG, "GatesNotWritten", message)
}

fn ejection_not_effective(report: &PolicyReport) -> Claim {
    let pods = report.ejection_not_effective;
    if pods == 0 {
        return Claim::fails(EJECTION_NOT_EFFECTIVE, "AllEffective", "every closed gate has taken its pod out");
    }
    let message = format!("{pods} replicas with a closed gate are still Ready after 5s: is their kubelet alive?");
    Claim::holds(EJECTION_NOT_EFFECTIVE, "ReadyDidNotFollow", message)
}

fn restart_held(index: &Index, report: &PolicyReport) -> Claim {
    let held: Vec<_> = report
        .replica_reports
        .iter()
        .filter_map(|replica| {
            let (rule, by) = replica.wants_restart?;
            let pod = index.pod(replica.replica)?;
            Some((pod.name.name.to_string(), rule, by?))
        })
        .collect();
    let Some(&(_, rule, by)) = held.first() else {
        return Claim::fails(RESTART_HELD, "None", "no restart waits");
    };
    let pods = list(held.into_iter().map(|(pod, ..)| pod));
    Claim::holds(RESTART_HELD, by.name(), format!("{pods}: {}{}", Reason::Held { rule, by }, course(by)))
}

/// What becomes of it, where that is not plain.
fn course(by: Obstacle) -> String {
    if let Obstacle::RestartBudget { next, .. } = by {
        let next = timestamp(next);
        return format!(", the next is at {}", next.round(Unit::Second).unwrap_or(next));
    }
    if by == Obstacle::Refused(Refusal::Budget) {
        return "; pods that are not Ready use it up, unless it has unhealthyPodEvictionPolicy: AlwaysAllow".to_owned();
    }
    String::new()
}

fn breaker_open(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let BreakerReport::Open { suspect, judged, trial } = report.breaker else {
        return Claim::fails(BREAKER_OPEN, "Closed", "restarts do not wait for suspects");
    };
    let breaker = index.in_force(policy).and_then(|spec| spec.policy.fleet.breaker);
    let (reason, course) = match trial {
        Trial::Waits { .. } => match breaker.and_then(|breaker| breaker.trial) {
            Some(after) => ("Waiting", format!("restarts wait; one is tried after {after}")),
            None => ("Waiting", "restarts wait until fewer are, and none is tried".to_owned()),
        },
        Trial::Runs { seat, .. } => {
            let seat = index.seat_label(seat).unwrap_or_else(|| "one".to_owned());
            ("Trying", format!("restarts wait for what comes of the one of {seat}"))
        }
        Trial::Helped => ("Restarting", "the restart that was tried has helped, so restarts go on".to_owned()),
    };
    Claim::holds(
        BREAKER_OPEN,
        reason,
        format!("{}: {course}", Reason::Suspects { among: Among::Fleet, suspect, judged }),
    )
}

fn shared_failure(index: &Index, report: &PolicyReport) -> Claim {
    let restarts = report.parts.iter().map(|part| ("RestartsHeld", format!("restarts wait: {}", cause(index, part))));
    let ejections = kept_in(index, report).into_iter().map(|(node, (pods, reason))| {
        let on_node = node.map(|node| format!(" (node {node})")).unwrap_or_default();
        ("NoWorseThanNeighbours", format!("{}{on_node}: {reason}", list(pods.into_iter())))
    });
    let claims: Vec<_> = ejections.chain(restarts).collect();
    let Some(&(reason, _)) = claims.first() else {
        return Claim::fails(SHARED_FAILURE, "None", "no replica is spared for failing as its neighbours do");
    };
    let told: Vec<_> = claims.into_iter().map(|(_, told)| told).collect();
    Claim::holds(SHARED_FAILURE, reason, told.join("; "))
}

/// The pods that are in although their readiness rule fails, since their neighbours fail with them, and the reason of one
/// of them; by node, where the path to that is cut.
fn kept_in(index: &Index, report: &PolicyReport) -> BTreeMap<Option<String>, (Vec<String>, Reason)> {
    let mut kept: BTreeMap<Option<String>, (Vec<String>, Reason)> = BTreeMap::new();
    for replica in &report.replica_reports {
        if let Some((Gate::Open, reason)) = replica.gate
            && let Reason::Held { by, .. } | Reason::HeldWithoutBeat { by } = reason
            && let Obstacle::SharedFailure { among, .. } = by
            && let Some(pod) = index.pod(replica.replica)
        {
            let node = pod.node.as_deref().filter(|_| among == Among::Node).map(str::to_owned);
            kept.entry(node).or_insert_with(|| (Vec::new(), reason)).0.push(pod.name.name.to_string());
        }
    }
    kept
}

/// What the replicas of a part share: `4 of 4 on node b: connect timeout`.
fn cause(index: &Index, part: &PartReport) -> String {
    let PartReport { part, failing, judged, last, .. } = *part;
    let name = match part {
        Part::Node(node) => index.node(node),
        Part::Revision(revision) | Part::Starting(revision) => revision.and_then(|revision| index.revision(revision)),
    };
    let name = name.unwrap_or("unknown");
    let last = last.map(|last| format!(": {last}")).unwrap_or_default();
    match part {
        Part::Node(_) => format!("{failing} of {judged} on node {name}{last}"),
        Part::Revision(_) => format!("{failing} of {judged} of revision {name}{last}"),
        Part::Starting(_) => format!("{failing} of {judged} of revision {name} failed to start{last}"),
    }
}

fn below_floor(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let settings = index.in_force(policy).and_then(|spec| spec.policy.floor);
    let (FloorReport::Below { ready, floor }, Some(settings)) = (report.floor, settings) else {
        return Claim::fails(BELOW_FLOOR, "Enough", "no more replicas fail than the pool can spare");
    };
    let (reason, course) = match settings.when_below {
        WhenBelow::Hold => ("Held", "nobody who is in is ejected for failing"),
        WhenBelow::Open => ("Opened", "whoever has started is let in"),
        WhenBelow::Close => ("Closed", "nobody is let in"),
    };
    let message = format!(
        "{}: {course}, until enough have been ready for {}",
        Reason::BelowFloor { ready, floor },
        settings.cooldown
    );
    Claim::holds(BELOW_FLOOR, reason, message)
}

/// While nobody prepares, what an edit would do.
fn preparing(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
    let &PolicyReport { replicas, preparing, awaiting, .. } = report;
    if preparing + awaiting > 0 {
        let message = format!(
            "{preparing} of {replicas} replicas are out of the pool until they have passed what an edit asks, and \
             {awaiting} keep their place until it is their turn"
        );
        return Claim::holds(PREPARING, "NotPassedYet", message);
    }
    let live = report.replica_reports.iter().filter(|replica| replica.lifecycle == Lifecycle::Live);
    let leave = live.filter(|replica| matches!(replica.gate, Some((Gate::Open, _)))).count();
    let (reason, message) = match in_force.map_or(OnPolicyChange::Keep, |spec| spec.policy.on_policy_change) {
        OnPolicyChange::Keep => ("WouldKeep", "an edit of what readiness asks takes nobody out of the pool".to_owned()),
        OnPolicyChange::Prepare => (
            "WouldPrepare",
            format!(
                "an edit of what readiness asks would take {leave} of {replicas} replicas out of the pool at once, until \
                 they have passed it"
            ),
        ),
        OnPolicyChange::Rolling => (
            "WouldRoll",
            format!(
                "an edit of what readiness asks would take {leave} of {replicas} replicas out of the pool, a few at a \
                 time, but for those that have passed it by their turn"
            ),
        ),
    };
    Claim::fails(PREPARING, reason, &message)
}

fn looping(index: &Index, report: &PolicyReport) -> Claim {
    let looping: Vec<&SeatReport> = report.seats.iter().filter(|seat| seat.in_loop).collect();
    if looping.is_empty() {
        return Claim::fails(LOOPING, "None", "no seat is in a restart loop");
    }
    let seats = list(looping.iter().filter_map(|seat| index.seat_label(seat.seat)));
    let loss = report.capacity.loss.map(|loss| format!(": {loss}")).unwrap_or_default();
    Claim::holds(LOOPING, "RestartLoop", format!("{seats}{loss}"))
}

fn gave_up(index: &Index, report: &PolicyReport) -> Claim {
    let seats: Vec<&SeatReport> = report.seats.iter().filter(|seat| seat.gave_up).collect();
    let Some(first) = seats.first() else {
        return Claim::fails(GAVE_UP, "None", "no seat is left to itself");
    };
    let told = Obstacle::GaveUp { times: first.memory.futile };
    let seats = list(seats.iter().filter_map(|seat| index.seat_label(seat.seat)));
    Claim::holds(GAVE_UP, "RestartsDoNotHelp", format!("{seats}: {told}; no more restarts until its rules pass again"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Change, WatchEvent};
    use crate::controller::fixtures::{self, POLICY};
    use crate::engine::{
        Engine, HeartbeatReport, NodeKey, OutcomeClass, OwnerKey, RuleReport, SeatKey, Slot, Span, Stretch, Stretched,
        Time,
    };

    #[test]
    fn a_timeout_longer_than_its_period_states_the_real_detection_time() {
        let index = fixtures::index();
        let stretched = finding(&index, &PolicyReport::default(), PERIOD_STRETCHED);
        assert_eq!(stretched.holds, Holds::True);
        assert!(stretched.message.ends_with("a silent replica is asked every 15s and detected within 30s"));
    }

    #[test]
    fn a_ceiling_on_attempts_says_by_how_much_it_stretches_every_period() {
        let index = fixtures::index();
        let stretched = Some(Stretched { ceiling: 10, wanted: 8, stretch: Stretch::NONE });
        let stretched = finding(&index, &PolicyReport { stretched, ..PolicyReport::default() }, PERIOD_STRETCHED);
        assert_eq!((stretched.holds, stretched.reason), (Holds::True, "AttemptCeiling"));
        let told = "all rules of this controller would come to 8 attempts a second, and it may make 10, so every period is \
                    1 times as long; ";
        assert!(stretched.message.starts_with(told), "{}", stretched.message);
    }

    #[test]
    fn writes_that_lag_say_how_many_and_by_how_much() {
        let report = PolicyReport { unwritten: 7, write_lag: Span::from_secs(12), ..PolicyReport::default() };
        let lag = finding(&fixtures::index(), &report, WRITES_LAG);
        assert_eq!(lag.holds, Holds::True);
        let told = "7 gates are not written yet as they were decided, one of them for 12s: ejections go first;";
        assert!(lag.message.starts_with(told), "{}", lag.message);
    }

    #[test]
    fn an_invalid_spec_says_why_and_which_spec_stays_in_force() {
        let mut index = fixtures::index();
        let text = fixtures::policy_text(2).replace("period: 5s", "period: 0s");
        index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
        let report = PolicyReport { generation: Some(1), ..PolicyReport::default() };
        let accepted = finding(&index, &report, ACCEPTED);
        assert_eq!((accepted.holds, accepted.reason), (Holds::False, "Invalid"));
        assert!(accepted.message.starts_with("spec.liveness.period"), "{}", accepted.message);
        assert!(accepted.message.ends_with("; the spec of generation 1 stays in force"));
    }

    #[test]
    fn a_pause_says_whose_until_when_and_why_and_one_that_cannot_be_read_says_so() {
        let pause = "annotations: {probepolicy.dev/paused-until: '2026-01-02T15:04:05Z', \
                     probepolicy.dev/paused-reason: heap dump}";
        for (annotations, pause_of, condition, told) in [
            (pause, true, PAUSED, "no attempts until 2026-01-02T15:04:05Z (heap dump)"),
            (
                "annotations: {probepolicy.dev/paused-until: tomorrow}",
                false,
                PAUSE_INVALID,
                "not paused, since metadata.annotations[probepolicy.dev/paused-until]: must be an instant such as \
                 2026-01-02T15:04:05Z",
            ),
        ] {
            let mut index = fixtures::index();
            let text = fixtures::policy_text(2).replace("name: web,", &format!("name: web, {annotations},"));
            index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
            let pause = index.in_force(POLICY).unwrap().policy.paused_until.map(|until| Pause::Policy { until });
            assert_eq!(pause.is_some(), pause_of);
            let finding = finding(&index, &PolicyReport { pause, ..PolicyReport::default() }, condition);
            assert_eq!((finding.holds, finding.message.as_str()), (Holds::True, told));
        }
    }

    #[test]
    fn the_newer_of_two_policies_is_told_who_keeps_which_pods() {
        let mut index = fixtures::index();
        let newer = fixtures::policy_text(1)
            .replace("name: web,", "name: web-new, creationTimestamp: '2026-01-01T00:00:00Z',")
            .replace("uid: policy", "uid: new");
        index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&newer))), Time::ZERO);
        let (key, record) = index.policies().find(|(key, _)| *key != POLICY).unwrap();
        let all = findings(&index, key, record, &PolicyReport::default());
        let conflicted = all.iter().find(|finding| finding.type_ == CONFLICTED).unwrap();
        assert_eq!(conflicted.holds, Holds::True);
        assert!(conflicted.message.starts_with("the older policy web keeps web-x"), "{}", conflicted.message);
    }

    #[test]
    fn a_fleet_without_gates_is_told_what_to_add() {
        let mut index = fixtures::index();
        let (engine, _, now) = fixtures::engine_with_an_intent(&mut index);
        let ungated = finding(&index, &engine.report(POLICY, now).unwrap(), UNGATED);
        assert_eq!(ungated.holds, Holds::True);
        let told = "1 of 1 replicas have no gate and are never ejected: add `conditionType: probepolicy.dev/ready`";
        assert!(ungated.message.starts_with(told), "{}", ungated.message);
    }

    #[test]
    fn a_problem_of_a_rule_is_a_condition_of_its_own_only_while_it_lasts() {
        let index = fixtures::index();
        let well = findings(&index, POLICY, index.policy(POLICY).unwrap(), &PolicyReport::default());
        let mut report = Engine::new().report(POLICY, Time::ZERO).unwrap_or_default();
        let unusable = Some((2, crate::engine::TargetProblem::UnknownPort));
        report.rules.readiness = Some(RuleReport { unusable, ..RuleReport::default() });
        let told = finding(&index, &report, "UnknownPort");
        let sentence = "the readiness rule cannot be asked at 2 replicas: the container has no port of that name";
        assert_eq!((told.holds, told.message.as_str()), (Holds::True, sentence));
        assert!(well.iter().all(|finding| finding.type_ != "UnknownPort"));
    }

    #[test]
    fn what_replicas_share_is_named() {
        let index = fixtures::index();
        let trial = Trial::Waits { since: Time::ZERO };
        let last = Some(OutcomeClass::ConnectTimeout);
        let part = |part, failing, last| PartReport { part, failing, judged: 4, last, trial };
        let parts = vec![part(Part::Node(NodeKey(0)), 4, last), part(Part::Starting(None), 2, None)];
        let shared = finding(&index, &PolicyReport { parts, ..PolicyReport::default() }, SHARED_FAILURE);
        let told = "restarts wait: 4 of 4 on node node-1: connect timeout; \
                    restarts wait: 2 of 4 of revision unknown failed to start";
        assert_eq!((shared.holds, shared.reason, shared.message.as_str()), (Holds::True, "RestartsHeld", told));
    }

    #[test]
    fn an_open_breaker_says_how_far_its_trial_is() {
        let mut index = fixtures::index();
        fixtures::engine_with_an_intent(&mut index);
        let seat = SeatKey { owner: OwnerKey(0), slot: Slot::Nth(0) };
        let since = Time::ZERO;
        for (trial, sentence) in [
            (Trial::Waits { since }, "restarts wait; one is tried after 1m"),
            (Trial::Runs { seat, since }, "restarts wait for what comes of the one of #0"),
            (Trial::Helped, "the restart that was tried has helped, so restarts go on"),
        ] {
            let breaker = BreakerReport::Open { suspect: 5, judged: 8, trial };
            let open = finding(&index, &PolicyReport { breaker, ..PolicyReport::default() }, BREAKER_OPEN);
            let told = format!("5 of 8 judged replicas failed their latest liveness attempt: {sentence}");
            assert_eq!((open.holds, open.message), (Holds::True, told));
        }
    }

    #[test]
    fn a_pool_below_its_floor_says_what_is_done_and_until_when() {
        let index = fixtures::index();
        let floor = FloorReport::Below { ready: 1, floor: 4 };
        let below = finding(&index, &PolicyReport { floor, ..PolicyReport::default() }, BELOW_FLOOR);
        let told = "1 replica is ready, and the pool must have 4: nobody who is in is ejected for failing, until enough \
                    have been ready for 30s";
        assert_eq!((below.holds, below.reason, below.message.as_str()), (Holds::True, "Held", told));
    }

    #[test]
    fn beats_that_are_too_rare_are_told_beside_the_time_to_live() {
        let mut index = fixtures::index();
        let text = fixtures::policy_text(2).replace("spec:", "spec:\n  heartbeat: {timeToLive: 3s}");
        index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
        let rare = Some((2, Span::from_millis(1_700)));
        let heartbeat = Some(HeartbeatReport { rare, ever_beat: true, ..HeartbeatReport::default() });
        let told = finding(&index, &PolicyReport { heartbeat, ..PolicyReport::default() }, BEATS_TOO_RARE);
        assert_eq!(told.holds, Holds::True);
        assert!(
            told.message.starts_with("2 replicas beat every 2s or so, and a beat counts for 3s:"),
            "{}",
            told.message
        );
    }

    #[test]
    fn a_heartbeat_rule_under_which_nobody_has_beaten_says_what_to_look_at() {
        let index = fixtures::index();
        let heartbeat = Some(HeartbeatReport::default());
        let told = finding(&index, &PolicyReport { heartbeat, ..PolicyReport::default() }, NEVER_PASSED);
        assert_eq!((told.holds, told.reason), (Holds::True, "NoBeatYet"));
    }

    #[test]
    fn what_an_edit_would_do_is_said_before_it_and_how_far_it_is_while_it_lasts() {
        let mut index = fixtures::index();
        let text =
            fixtures::policy_text(2).replace("mode: Enforce", "pool: {onPolicyChange: Prepare}\n  mode: Enforce");
        index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
        let (engine, _, now) = fixtures::engine_with_an_intent(&mut index);
        let before = finding(&index, &engine.report(POLICY, now).unwrap(), PREPARING);
        let told = "an edit of what readiness asks would take 0 of 1 replicas out of the pool at once, until they have \
                    passed it";
        assert_eq!((before.holds, before.message.as_str()), (Holds::False, told));
        let report = PolicyReport { replicas: 8, preparing: 2, awaiting: 5, ..PolicyReport::default() };
        let told = "2 of 8 replicas are out of the pool until they have passed what an edit asks, and 5 keep their place \
                    until it is their turn";
        let meanwhile = finding(&index, &report, PREPARING);
        assert_eq!((meanwhile.holds, meanwhile.message.as_str()), (Holds::True, told));
    }

    fn finding(index: &Index, report: &PolicyReport, type_: &str) -> Finding {
        let all = findings(index, POLICY, index.policy(POLICY).unwrap(), report);
        all.into_iter().find(|finding| finding.type_ == type_).unwrap()
    }
}
