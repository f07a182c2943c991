//! What an edit does to what is under way.

use super::*;

#[test]
fn a_lower_threshold_holds_at_once_and_a_higher_one_voids_what_waits() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(2);
    let mut lower = policy();
    lower.rules.liveness.as_mut().unwrap().failure_threshold = std::num::NonZeroU32::new(2).unwrap();
    bench.set(lower);
    bench.settle();
    assert_eq!(bench.restarts(), [(5, 0)]);
}

#[test]
fn a_new_question_voids_the_streak_but_not_the_place_in_the_pool() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    let mut edited = policy();
    edited.rules.readiness.as_mut().unwrap().question = Question(2);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::BadStatus { status: 404 });
    bench.set(edited);
    bench.pass(20);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn a_new_period_holds_from_the_next_attempt_on() {
    let mut bench = Bench::with(Policy {
        rules: PerRule { startup: None, liveness: Some(rule(600, 3)), readiness: None },
        ..policy()
    });
    bench.add(0);
    bench.pass(3);
    assert_eq!(bench.attempts, 1);
    let mut edited = policy();
    edited.rules = PerRule { startup: None, liveness: Some(rule(2, 3)), readiness: None };
    bench.set(edited);
    bench.pass(10);
    assert_eq!(bench.attempts, 6);
}

#[test]
fn an_added_startup_rule_does_not_throw_out_who_is_in() {
    let mut bench = Bench::with(Policy { rules: PerRule { startup: None, ..policy().rules }, ..policy() });
    bench.add(0);
    bench.pass(3);
    bench.answers.insert((0, RuleKind::Startup), OutcomeClass::BadStatus { status: 404 });
    bench.set(policy());
    bench.pass(30);
    assert_eq!((bench.gate(0), bench.restarts()), (OPEN, vec![]));
}

#[test]
fn a_removed_rule_takes_its_waiting_restart_with_it() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(4);
    bench.set(Policy { rules: PerRule { liveness: None, ..policy().rules }, ..policy() });
    bench.restart_result = EffectResult::Applied;
    let tried = bench.restarts().len();
    bench.pass(60);
    assert_eq!(bench.restarts().len(), tried);
}

#[test]
fn observing_voids_a_restart_that_waits() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(4);
    bench.set(Policy { mode: Mode::Observe, ..policy() });
    let tried = bench.restarts().len();
    bench.pass(60);
    assert_eq!((bench.restarts().len(), bench.gate(0)), (tried, OPEN));
}
