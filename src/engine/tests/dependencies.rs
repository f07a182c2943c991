//! What all replicas need, and what is held while it fails.

use super::*;

/// The policy with a dependency that is asked every ten seconds and is down after three failures.
fn depending(when_down: WhenDown) -> Policy {
    let store = Dependency { name: store(), rule: rule(10, 3), when_down };
    Policy { dependencies: vec![store], ..policy() }
}

fn store() -> DependencyName {
    DependencyName::new("store").unwrap()
}

/// Three replicas that are in the pool at second 3; the dependency has passed at second 0.
fn fleet(policy: Policy) -> Bench {
    let mut bench = Bench::with(policy);
    (0..3).for_each(|index| bench.add(index));
    bench.pass(3);
    bench
}

fn fail_readiness(bench: &mut Bench, index: u32) {
    bench.answers.insert((index, RuleKind::Readiness), OutcomeClass::BadStatus { status: 503 });
}

fn ejections(bench: &Bench, index: u32) -> Vec<u64> {
    let ejected = bench.told(index).into_iter().filter(|(_, kind)| *kind == TransitionKind::Ejected);
    ejected.map(|(at, _)| at).collect()
}

#[test]
fn before_anybody_is_ejected_the_dependency_is_asked() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    assert_eq!(bench.dependency_attempts, 1);
    bench.answer(0, OutcomeClass::Passed);
    fail_readiness(&mut bench, 0);
    bench.pass(2);
    assert_eq!((ejections(&bench, 0), bench.dependency_attempts), (vec![4], 2));
}

#[test]
fn nobody_is_ejected_for_what_was_heard_while_it_failed_and_who_goes_on_failing_is() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.dependency = Some(OutcomeClass::Refused);
    (0..3).for_each(|index| fail_readiness(&mut bench, index));
    bench.pass(30);
    assert_eq!(bench.fleet_told(), [(20, FleetTransitionKind::DependencyWentDown)]);
    let report = bench.report();
    let down = DependencyState::Down { since: Time::ZERO + Span::from_secs(20) };
    assert_eq!(report.dependencies[0].state, down);
    let (_, reason) = report.replica_reports[0].gate.unwrap();
    let told = "the readiness rule wants an ejection, but dependency store fails: connection refused";
    assert_eq!((reason.name(), reason.to_string().as_str()), ("DependencyDown", told));
    bench.dependency = Some(OutcomeClass::Passed);
    bench.pass(7);
    (0..2).for_each(|index| bench.answer(index, OutcomeClass::Passed));
    bench.pass(5);
    assert_eq!(bench.fleet_told()[1..], [(40, FleetTransitionKind::DependencyCameBack)]);
    assert_eq!([0, 1, 2].map(|index| ejections(&bench, index)), [vec![], vec![], vec![41]]);
}

#[test]
fn one_failure_of_it_holds_already_and_one_pass_ends_that() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.dependency = Some(OutcomeClass::NobodyThere);
    fail_readiness(&mut bench, 0);
    bench.pass(2);
    assert_eq!(bench.report().dependencies[0].state, DependencyState::Suspect);
    bench.dependency = Some(OutcomeClass::Passed);
    bench.pass(10);
    assert_eq!((ejections(&bench, 0), bench.fleet_told()), (vec![11], vec![]));
}

#[test]
fn one_that_has_never_passed_says_nothing_and_neither_does_our_own_fault() {
    let mut never = Bench::with(depending(WhenDown::HoldAll));
    never.dependency = Some(OutcomeClass::Refused);
    (0..3).for_each(|index| never.add(index));
    never.pass(3);
    let mut broken = fleet(depending(WhenDown::HoldAll));
    broken.dependency = Some(OutcomeClass::ProberError);
    for bench in [&mut never, &mut broken] {
        bench.answer(0, OutcomeClass::NoResponse);
        bench.pass(4);
        assert_eq!((ejections(bench, 0), bench.restarts()), (vec![4], vec![(6, 0)]));
    }
    assert_eq!(never.report().dependencies[0].state, DependencyState::NeverPassed);
    never.dependency = Some(OutcomeClass::Passed);
    never.pass(10);
    assert_eq!(never.report().dependencies[0].state, DependencyState::Up);
}

#[test]
fn an_answer_that_never_comes_is_not_waited_for_for_ever() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.dependency = None;
    fail_readiness(&mut bench, 0);
    bench.pass(9);
    // Its timeout is a second, and five more are our own fault.
    assert_eq!(ejections(&bench, 0), [10]);
}

#[test]
fn nor_is_one_that_comes_too_late_the_moment_that_it_would_be_given_up() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.dependency = None;
    fail_readiness(&mut bench, 0);
    bench.pass(6);
    let asked = DependencyAttempt { policy: POLICY, dependency: store(), serial: bench.dependency_attempts - 1 };
    bench.now = bench.now + Span::from_secs(1);
    let outcome = Outcome { class: OutcomeClass::Passed, took: Span::from_secs(6) };
    bench.tell(Input::DependencyAnswered { attempt: asked, outcome });
    bench.settle();
    assert_eq!(ejections(&bench, 0), [10]);
}

#[test]
fn whoever_has_waited_for_an_answer_once_waits_for_another_the_next_time() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.dependency = None;
    fail_readiness(&mut bench, 0);
    bench.pass(1);
    let by = |bench: &Bench| bench.report().replica_reports[0].gate.map(|(_, reason)| reason.name());
    assert_eq!(by(&bench), Some("DependencyAsked"));
    // It is let alone while the dependency is asked, and its rule begins anew.
    bench.show(0, |seen| seen.paused_until = Some(Time::ZERO + Span::from_secs(12)));
    let spec = depending(WhenDown::HoldEjections);
    bench.set(Policy { rules: PerRule { readiness: None, ..policy().rules }, ..spec.clone() });
    bench.dependency = Some(OutcomeClass::Passed);
    bench.pass(7);
    bench.dependency = None;
    bench.set(spec);
    bench.pass(2);
    assert_eq!((by(&bench), ejections(&bench, 0)), (Some("DependencyAsked"), vec![]));
}

#[test]
fn restarts_are_held_for_it_only_if_it_says_so() {
    for (when_down, restarts) in [(WhenDown::HoldEjections, vec![(6, 0)]), (WhenDown::HoldAll, vec![(21, 0)])] {
        let mut policy = depending(when_down);
        policy.dependencies[0].rule.period = Span::from_secs(1);
        let mut bench = fleet(policy);
        bench.dependency = Some(OutcomeClass::Refused);
        (0..2).for_each(|index| bench.answer(index, OutcomeClass::NoResponse));
        bench.pass(16);
        if when_down == WhenDown::HoldAll {
            let held = bench.report().replica_reports[0].wants_restart.unwrap().1.unwrap();
            assert_eq!(held.name(), "DependencyDown");
        }
        bench.dependency = Some(OutcomeClass::Passed);
        bench.pass(1);
        bench.answer(1, OutcomeClass::Passed);
        bench.pass(3);
        assert_eq!(bench.restarts(), restarts, "{when_down:?}");
    }
}

#[test]
fn however_many_fail_one_after_the_other_it_is_asked_ten_times_a_second_at_most() {
    let policy = Policy { phase: Phase::Spread, ..depending(WhenDown::HoldEjections) };
    let mut bench = Bench::with(Policy { rules: PerRule { startup: None, liveness: None, ..policy.rules }, ..policy });
    for index in 0..200 {
        bench.add(index);
        fail_readiness(&mut bench, index);
        bench.answers.insert((index, RuleKind::Readiness), OutcomeClass::Passed);
    }
    bench.advance(Span::from_secs(20));
    let before = bench.dependency_attempts;
    (0..200).for_each(|index| fail_readiness(&mut bench, index));
    bench.advance(Span::from_secs(3));
    assert!((10..35).contains(&(bench.dependency_attempts - before)), "{}", bench.dependency_attempts - before);
    assert!((0..200).all(|index| ejections(&bench, index).len() == 1));
}

#[test]
fn a_paused_policy_does_not_ask_it_and_an_edited_question_has_never_passed() {
    let mut bench = fleet(depending(WhenDown::HoldEjections));
    bench.set(Policy { mode: Mode::Paused, ..depending(WhenDown::HoldEjections) });
    bench.pass(30);
    assert_eq!(bench.dependency_attempts, 1);
    let mut edited = depending(WhenDown::HoldEjections);
    edited.dependencies[0].rule.question = Question(7);
    bench.dependency = Some(OutcomeClass::Refused);
    bench.set(edited);
    bench.pass(10);
    assert_eq!(bench.report().dependencies[0].state, DependencyState::NeverPassed);
    bench.set(policy());
    assert_eq!((bench.pass(1), bench.report().dependencies), ((), vec![]));
}

#[test]
fn what_is_only_observed_says_what_would_have_been_held_for_it() {
    let mut bench = fleet(Policy { mode: Mode::Observe, ..depending(WhenDown::HoldEjections) });
    bench.dependency = Some(OutcomeClass::Refused);
    (0..2).for_each(|index| fail_readiness(&mut bench, index));
    bench.pass(10);
    let would_have = bench.report().would_have.unwrap();
    assert_eq!((would_have.held_by_dependency, would_have.ejected), (2, 0));
    let told = bench.told(0).into_iter().filter(|(_, kind)| *kind == TransitionKind::WouldHaveHeld).count();
    assert_eq!(told, 1);
}
