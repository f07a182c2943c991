//! When a replica is in the pool.

use super::restarts::stuck;
use super::*;

#[test]
fn a_new_container_stays_outside_until_startup_and_readiness_have_passed() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(2);
    assert_eq!(bench.gate(0), CLOSED);
    bench.answers.insert((0, RuleKind::Startup), OutcomeClass::Passed);
    bench.pass(2);
    assert_eq!(bench.gate(0), CLOSED);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Passed);
    bench.pass(1);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn a_replica_is_ejected_at_the_threshold_and_admitted_by_one_pass_without_a_restart() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::BadStatus { status: 503 });
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
    bench.pass(30);
    bench.answers.clear();
    bench.pass(1);
    assert_eq!((bench.gate(0), bench.restarts()), (OPEN, vec![]));
}

#[test]
fn the_first_sight_of_a_container_that_does_not_run_closes_the_gate() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.each_container(0, |container| container.state = ContainerState::Down);
    bench.settle();
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn a_replacement_container_inherits_no_verdict() {
    let mut bench = stuck(policy());
    bench.replace_container(0);
    bench.settle();
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn observing_opens_new_gates_at_once_and_restarts_nobody() {
    let mut bench = Bench::with(Policy { mode: Mode::Observe, ..policy() });
    bench.add(0);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(60);
    assert_eq!((bench.gate(0), bench.restarts()), (OPEN, vec![]));
    assert!(bench.attempts > 50);
}

#[test]
fn a_paused_policy_lets_new_replicas_in_and_leaves_known_ones_alone() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(2);
    bench.set(Policy { mode: Mode::Paused, ..policy() });
    bench.add(1);
    bench.settle();
    let attempts = bench.attempts;
    bench.pass(10);
    assert_eq!((bench.gate(0), bench.gate(1), bench.attempts), (CLOSED, OPEN, attempts));
}

#[test]
fn a_replica_that_no_policy_selects_is_let_in_after_thirty_seconds_not_before() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(2);
    bench.show(0, |seen| (seen.policy, seen.targets) = (None, PerRule::default()));
    bench.pass(29);
    assert_eq!(bench.gate(0), CLOSED);
    bench.pass(2);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn an_admission_that_was_refused_is_made_once_no_policy_selects_the_replica() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(2);
    bench.gate_result = EffectResult::Refused(Refusal::Failed);
    bench.answer(0, OutcomeClass::Passed);
    bench.pass(1);
    bench.replace_container(0);
    bench.show(0, |seen| (seen.policy, seen.targets) = (None, PerRule::default()));
    bench.settle();
    bench.gate_result = EffectResult::Applied;
    assert_eq!(bench.gate(0), CLOSED);
    bench.pass(31);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn without_a_valid_policy_ever_the_gate_is_open_and_says_why() {
    let mut bench = Bench::new();
    bench.tell(Input::PolicyInvalid { policy: POLICY });
    bench.tell(Input::Synced);
    bench.add(0);
    bench.settle();
    assert_eq!(bench.gate(0), OPEN);
    assert_eq!(bench.report().replica_reports[0].gate, Some((Gate::Open, Reason::InvalidPolicy)));
}

#[test]
fn a_policy_that_became_invalid_leaves_the_last_valid_one_in_force() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.tell(Input::PolicyInvalid { policy: POLICY });
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(5);
    assert_eq!(bench.restarts(), [(6, 0)]);
}

#[test]
fn a_rule_that_nobody_has_passed_ejects_and_restarts_nobody() {
    let mut bench = Bench::new();
    bench.set(Policy { mode: Mode::Observe, ..policy() });
    bench.tell(Input::Synced);
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 404 });
    bench.pass(5);
    bench.set(policy());
    bench.pass(60);
    assert_eq!((bench.gate(0), bench.restarts()), (OPEN, vec![]));
}

#[test]
fn an_unanswerable_rule_counts_as_absent() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    let problem = Target::Unusable(TargetProblem::UnknownPort);
    bench.show(0, |seen| {
        seen.targets = PerRule { startup: Some(problem), liveness: Some(problem), readiness: Some(problem) };
    });
    bench.pass(1);
    assert_eq!(bench.gate(0), OPEN);
    assert_eq!(bench.report().rules.liveness.unwrap().unusable, Some((1, TargetProblem::UnknownPort)));
}

#[test]
fn an_unchanged_gate_is_written_once() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    let writes = bench.done.len();
    bench.pass(60);
    assert_eq!((bench.gate(0), bench.done.len()), (OPEN, writes));
}

#[test]
fn a_gate_that_somebody_else_turned_is_turned_back() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.show(0, |seen| seen.gate = CLOSED);
    bench.settle();
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn a_readiness_failure_that_most_replicas_share_ejects_nobody_who_is_in() {
    let failing = OutcomeClass::BadStatus { status: 503 };
    for (replicas, fail, ejects) in [(1, 1, true), (2, 1, true), (2, 2, false), (4, 2, true), (4, 3, false)] {
        let fleet = FleetSettings { shared_failure: SharedFailure::Hold, ..policy().fleet };
        let mut bench = Bench::with(Policy { fleet, ..policy() });
        (0..replicas).for_each(|replica| bench.add(replica));
        bench.pass(3);
        for replica in 0..fail {
            bench.answers.insert((replica, RuleKind::Readiness), failing);
        }
        bench.pass(5);
        let gate = if ejects { CLOSED } else { OPEN };
        (0..fail).for_each(|replica| assert_eq!(bench.gate(replica), gate, "{replica} of {fail} of {replicas}"));
        assert_eq!(bench.gate(replicas - 1), if fail == replicas { gate } else { OPEN });
    }
}

#[test]
fn who_still_fails_when_most_of_its_neighbours_pass_again_is_ejected() {
    let fleet = FleetSettings { shared_failure: SharedFailure::Hold, ..policy().fleet };
    let mut bench = Bench::with(Policy { fleet, ..policy() });
    (0..3).for_each(|replica| bench.add(replica));
    bench.pass(3);
    for replica in 0..3 {
        bench.answers.insert((replica, RuleKind::Readiness), OutcomeClass::NoResponse);
    }
    bench.pass(3);
    assert_eq!([0, 1, 2].map(|replica| bench.gate(replica)), [OPEN; 3]);
    let held = bench.report().replica_reports[0].gate.unwrap().1;
    let told = "the readiness rule wants an ejection, but the failure is shared by 3 of 3 replicas: no response";
    assert_eq!(held.to_string(), told);
    bench.answers.remove(&(1, RuleKind::Readiness));
    bench.answers.remove(&(2, RuleKind::Readiness));
    bench.pass(1);
    assert_eq!([0, 1, 2].map(|replica| bench.gate(replica)), [CLOSED, OPEN, OPEN]);
}

#[test]
fn when_a_shared_failure_ends_those_who_are_asked_last_stay_in() {
    let fleet = FleetSettings { shared_failure: SharedFailure::Hold, ..policy().fleet };
    let rules = PerRule { readiness: Some(rule(10, 2)), ..policy().rules };
    let mut bench = Bench::with(Policy { fleet, rules, phase: Phase::Spread, ..policy() });
    (0..8).for_each(|replica| bench.add(replica));
    bench.pass(30);
    for replica in 0..8 {
        bench.answers.insert((replica, RuleKind::Readiness), OutcomeClass::NoResponse);
    }
    bench.pass(60);
    bench.answers.clear();
    bench.pass(30);
    let ejected = |replica: &u32| bench.told(*replica).iter().any(|(_, kind)| *kind == TransitionKind::Ejected);
    assert_eq!((0..8).filter(ejected).collect::<Vec<_>>(), [0; 0]);
}
