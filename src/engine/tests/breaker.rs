//! When restarts wait because many replicas are suspect at once.

use super::*;

const BREAKER: BreakerSettings = BreakerSettings {
    open_at: Amount::Percent(50),
    min_judged: 2,
    cooldown: Span::from_secs(60),
    trial: Some(Span::from_secs(60)),
};

/// The policy with its breaker, and without the other guards.
pub(super) fn guarded() -> Policy {
    let backoff = Backoff { initial: Span::ZERO, ..policy().restart.backoff };
    Policy {
        restart: RestartSettings { max_concurrent: Amount::Percent(100), backoff, ..policy().restart },
        fleet: FleetSettings { breaker: Some(BREAKER), ..policy().fleet },
        ..policy()
    }
}

/// So many replicas, which passed everything until second 3; of the first `stuck` nothing is heard from then on.
fn fleet(policy: Policy, replicas: u32, stuck: u32) -> Bench {
    let mut bench = Bench::with(policy);
    for index in 0..replicas {
        bench.add(index);
    }
    bench.pass(3);
    for index in 0..stuck {
        bench.answer(index, OutcomeClass::NoResponse);
    }
    bench
}

#[test]
fn one_stuck_replica_is_restarted_in_a_fleet_of_one_two_and_three() {
    for replicas in 1..=3 {
        let mut bench = fleet(guarded(), replicas, 1);
        bench.pass(10);
        assert_eq!(bench.restarts(), [(6, 0)], "of {replicas}");
    }
}

#[test]
fn half_of_the_fleet_is_not_restarted_but_for_one_trial_after_a_while() {
    let mut bench = fleet(guarded(), 8, 4);
    bench.pass(60);
    assert_eq!(bench.fleet_told(), [(4, FleetTransitionKind::BreakerOpened)]);
    assert_eq!(bench.restarts(), []);
    let held = bench.report().replica_reports[3].wants_restart;
    assert_eq!(
        held,
        Some((RuleKind::Liveness, Some(Obstacle::Breaker { among: Among::Fleet, suspect: 4, judged: 8 })))
    );
    bench.pass(20);
    assert_eq!(bench.restarts(), [(64, 0)]);
}

#[test]
fn suspects_count_long_before_they_fail() {
    let mut patient = guarded();
    patient.rules.liveness = Some(rule(1, 5));
    let mut bench = fleet(patient, 4, 1);
    bench.pass(3);
    bench.answer(1, OutcomeClass::NoResponse);
    bench.pass(10);
    assert_eq!((bench.fleet_told(), bench.restarts()), (vec![(7, FleetTransitionKind::BreakerOpened)], vec![]));
}

#[test]
fn a_trial_that_helps_lets_restarts_go_on_and_the_breaker_closes_once_it_is_calm() {
    let mut bench = fleet(guarded(), 8, 4);
    bench.pass(61);
    heal(&mut bench, 0);
    bench.pass(1);
    assert_eq!(bench.restarts(), [(64, 0), (65, 1), (65, 2), (65, 3)]);
    for index in 1..4 {
        heal(&mut bench, index);
    }
    bench.pass(70);
    let told = bench.fleet_told();
    assert_eq!(told[1].1, FleetTransitionKind::BreakerClosed);
    assert_eq!(told.len(), 2);
}

#[test]
fn after_a_trial_that_does_not_help_the_next_one_waits_as_long() {
    let mut bench = fleet(guarded(), 8, 8);
    let mut restarted = 0;
    for _ in 0..210 {
        bench.pass(1);
        if let Some((_, index)) = bench.restarts().get(restarted).copied() {
            restarted += 1;
            bench.replace_container(index);
        }
    }
    let failed_again = 5;
    let next = 64 + failed_again + 60;
    assert_eq!(bench.restarts()[..2], [(64, 0), (next, 1)]);
    assert_eq!(bench.restarts().len(), 3);
    assert_eq!(bench.report().restarts_futile, 3);
}

#[test]
fn starting_and_terminating_replicas_are_in_no_ratio() {
    let mut bench = fleet(guarded(), 4, 1);
    bench.answers.insert((4, RuleKind::Startup), OutcomeClass::Refused);
    bench.add(4);
    bench.show(1, |seen| seen.lifecycle = Lifecycle::Terminating);
    bench.show(2, |seen| seen.lifecycle = Lifecycle::Terminating);
    bench.pass(2);
    assert_eq!(bench.fleet_told(), []);
    bench.answer(3, OutcomeClass::NoResponse);
    bench.pass(1);
    assert_eq!(bench.fleet_told().len(), 1);
}

#[test]
fn with_fewer_judged_replicas_than_asked_for_it_does_not_open() {
    let mut demanding = guarded();
    demanding.fleet.breaker = Some(BreakerSettings { min_judged: 5, ..BREAKER });
    let mut bench = fleet(demanding, 4, 4);
    bench.pass(10);
    assert_eq!((bench.fleet_told().len(), bench.restarts().len()), (0, 4));
}

#[test]
fn an_edit_that_switches_it_off_lets_the_restarts_go() {
    let mut bench = fleet(guarded(), 8, 8);
    bench.pass(10);
    bench.set(Policy { fleet: policy().fleet, ..guarded() });
    bench.pass(1);
    assert_eq!(bench.restarts().len(), 8);
    assert_eq!(bench.fleet_told()[1], (13, FleetTransitionKind::BreakerClosed));
}

/// The replica answers again, in a new container.
fn heal(bench: &mut Bench, index: u32) {
    bench.answers.retain(|(replica, _), _| *replica != index);
    bench.replace_container(index);
}
