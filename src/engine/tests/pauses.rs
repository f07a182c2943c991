//! Replicas and policies that are let alone for a while.

use super::restarts::stuck;
use super::*;

#[test]
fn a_paused_replica_is_not_asked_and_stays_as_it_is_until_the_pause_ends() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    pause(&mut bench, 0, 20);
    bench.answer(0, OutcomeClass::NoResponse);
    let asked = bench.attempts;
    bench.pass(16);
    let report = bench.report();
    assert_eq!((bench.attempts, bench.gate(0), bench.restarts()), (asked, OPEN, vec![]));
    assert_eq!((report.paused, report.replica_reports[0].state), (1, ReplicaState::Paused));
    assert_eq!(bench.engine.next_deadline(), Some((at(20), "pause ends")));
    bench.pass(10);
    assert_eq!((bench.gate(0), bench.restarts()), (CLOSED, vec![(22, 0)]));
}

#[test]
fn what_was_heard_before_a_pause_and_during_it_counts_for_nothing_afterwards() {
    let mut bench = stuck(policy());
    bench.pass(2);
    pause(&mut bench, 0, 10);
    bench.pass(7);
    assert_eq!(bench.restarts(), [(12, 0)], "three failures from second 10 on, not one more after two");
}

#[test]
fn a_new_container_of_a_paused_replica_is_let_in_and_judged_afterwards() {
    let mut bench = Bench::with(policy());
    bench.add_as(0, |seen| seen.paused_until = Some(at(10)));
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(9);
    let (_, reason) = bench.report().replica_reports[0].gate.unwrap();
    assert_eq!((bench.gate(0), reason), (OPEN, Reason::ReplicaPaused));
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn a_paused_replica_is_in_no_ratio() {
    let breaker =
        BreakerSettings { open_at: Amount::Percent(50), min_judged: 2, cooldown: Span::from_secs(60), trial: None };
    let fleet = FleetSettings { breaker: Some(breaker), shared_failure: SharedFailure::Ignore };
    let mut bench = Bench::with(Policy { fleet, ..policy() });
    (0..4).for_each(|index| bench.add(index));
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.answer(1, OutcomeClass::NoResponse);
    pause(&mut bench, 0, 100);
    bench.pass(20);
    assert_eq!((bench.report().breaker, bench.restarts()), (BreakerReport::Closed, vec![(6, 1)]));
}

#[test]
fn a_pause_that_begins_voids_a_restart_that_waits() {
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(4);
    bench.restart_result = EffectResult::Applied;
    let tried = bench.restarts().len();
    pause(&mut bench, 0, 60);
    bench.pass(50);
    assert_eq!(bench.restarts().len(), tried);
}

#[test]
fn the_longer_of_two_pauses_holds_and_one_that_is_over_is_as_if_absent() {
    let pause = |policy_until, replica: Option<u64>| {
        let paused = Policy { paused_until: Some(at(policy_until)), ..policy() };
        Pause::at(at(5), &paused, replica.map(at))
    };
    assert_eq!(pause(9, Some(8)), Some(Pause::Policy { until: at(9) }));
    assert_eq!(pause(9, Some(10)), Some(Pause::Replica { until: at(10) }));
    assert_eq!(pause(5, Some(8)), Some(Pause::Replica { until: at(8) }));
    assert_eq!(pause(5, Some(4)), None);
    assert_eq!(pause(5, None), None);
}

#[test]
fn a_paused_policy_lets_all_its_replicas_alone_and_goes_on_by_itself() {
    let mut bench = Bench::with(policy());
    (0..2).for_each(|index| bench.add(index));
    bench.pass(3);
    bench.set(Policy { paused_until: Some(at(30)), ..policy() });
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(26);
    assert_eq!((bench.report().paused, bench.restarts()), (2, vec![]));
    bench.pass(10);
    assert_eq!((bench.report().paused, bench.restarts()), (0, vec![(32, 0)]));
}

#[test]
fn when_the_pause_of_a_policy_ends_a_failure_that_its_replicas_share_still_ejects_nobody() {
    let fleet = FleetSettings { breaker: None, shared_failure: SharedFailure::Hold };
    let shared = Policy { fleet, ..policy() };
    let mut bench = Bench::with(shared.clone());
    (0..2).for_each(|replica| bench.add(replica));
    bench.pass(5);
    for replica in 0..2 {
        bench.answers.insert((replica, RuleKind::Readiness), OutcomeClass::NoResponse);
    }
    bench.pass(5);
    bench.set(Policy { paused_until: Some(bench.now + Span::from_secs(3)), ..shared });
    bench.pass(4);
    assert_eq!([0, 1].map(|replica| bench.gate(replica)), [OPEN, OPEN]);
}

fn pause(bench: &mut Bench, index: u32, until: u64) {
    bench.show(index, |seen| seen.paused_until = Some(at(until)));
}

fn at(second: u64) -> Time {
    Time::ZERO + Span::from_secs(second)
}
