//! What the conditions say.

use super::*;
use crate::api::conditions::{
    ACCEPTED, BEATS_TOO_RARE, BELOW_FLOOR, BREAKER_OPEN, CONFLICTED, DEPENDENCY_DOWN, NEVER_PASSED, PAUSE_INVALID,
    PAUSED, PERIOD_STRETCHED, PREPARING, SERVICE_UNUSABLE, SHARED_FAILURE, UNGATED, WRITES_LAG,
};
use crate::cluster::{Change, WatchEvent};
use crate::controller::fixtures::{self, POLICY};
use crate::engine::{
    BreakerReport, DependencyName, DependencyReport, DependencyState, Engine, FloorReport, HeartbeatReport, NodeKey,
    OutcomeClass, OwnerKey, Part, PartReport, Pause, PolicyReport, RuleReport, SeatKey, Slot, Span, Stretch, Stretched,
    Time, Trial,
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
fn a_service_that_is_not_there_is_named() {
    let mut index = fixtures::index();
    let text =
        fixtures::policy_text(2).replace("restart:", "pool: {through: EndpointSlice, service: front}\n  restart:");
    index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
    let unusable = finding(&index, &PolicyReport::default(), SERVICE_UNUSABLE);
    assert_eq!((unusable.holds, unusable.reason), (Holds::True, "NoService"));
    assert_eq!(unusable.message, "there is no Service front. Until then no slice is written");
}

#[test]
fn a_dependency_that_is_down_is_named_and_one_that_says_nothing_says_why() {
    let mut index = fixtures::index();
    let fleet =
        "  fleet: {dependencies: [{name: store, selector: {matchLabels: {app: db}}, tcpSocket: {port: 5432}}]}\n";
    let text = fixtures::policy_text(2).replace("status:", &format!("{fleet}status:"));
    index.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&text))), Time::ZERO);
    let report = |state| {
        let name = DependencyName::new("store").unwrap();
        let last = Some(OutcomeClass::Refused);
        let dependencies = vec![DependencyReport { name, state, last, prober_errors: 0 }];
        PolicyReport { dependencies, ..PolicyReport::default() }
    };
    for (state, holds, reason, told) in [
        (
            DependencyState::NeverPassed,
            Holds::Unknown,
            "NoTarget",
            "the selector of store selects no pod of this namespace, so it says nothing",
        ),
        (
            DependencyState::Suspect,
            Holds::False,
            "Suspect",
            "the latest attempt at store failed, which holds already what is held",
        ),
        (
            DependencyState::Down { since: Time::ZERO + Span::from_secs(7) },
            Holds::True,
            "Down",
            "store is down since 1970-01-01T00:00:07Z (connection refused); nothing is held for it",
        ),
        (DependencyState::Up, Holds::False, "Up", "every dependency passes"),
    ] {
        let finding = finding(&index, &report(state), DEPENDENCY_DOWN);
        assert_eq!((finding.holds, finding.reason, finding.message.as_str()), (holds, reason, told));
    }
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
    assert!(told.message.starts_with("2 replicas beat every 2s or so, and a beat counts for 3s:"), "{}", told.message);
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
    let text = fixtures::policy_text(2).replace("mode: Enforce", "pool: {onPolicyChange: Prepare}\n  mode: Enforce");
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
