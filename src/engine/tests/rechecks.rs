//! Quick re-checks while a streak is undecided, and the period before the first pass.

use std::num::NonZeroU32;

use super::*;

/// Readiness alone: every 10 s, three failures, re-checks every second.
fn hasty() -> Policy {
    let readiness = Rule { fast_period: Some(Span::from_secs(1)), ..rule(10, 3) };
    Policy { rules: PerRule { startup: None, liveness: None, readiness: Some(readiness) }, ..policy() }
}

#[test]
fn a_failure_is_confirmed_at_the_fast_period_and_a_verdict_is_asked_for_at_the_period() {
    let mut bench = Bench::with(hasty());
    bench.add(0);
    bench.pass(15);
    let before = bench.attempts;
    bench.answer(0, OutcomeClass::Refused);
    bench.pass(7);
    assert_eq!((bench.gate(0), bench.attempts - before), (CLOSED, 3), "at 20, 21 and 22");
    bench.pass(30);
    assert_eq!(bench.attempts - before, 6, "at 30, 40 and 50");
}

#[test]
fn a_hang_is_confirmed_before_the_confirmation_before_it_has_timed_out() {
    let mut policy = hasty();
    let readiness = policy.rules.readiness.as_mut().unwrap();
    readiness.timeout = Span::from_secs(5);
    let mut bench = Bench::with(policy);
    bench.add(0);
    bench.pass(15);
    let hang = Span::from_secs(5);
    let mut under_way = Vec::new();
    let closed = loop {
        bench.now = bench.now + Span::from_secs(1);
        let mut effects = Vec::new();
        for (attempt, _) in under_way.extract_if(.., |(_, ends)| *ends <= bench.now) {
            let outcome = Outcome { class: OutcomeClass::NoResponse, took: hang };
            bench.engine.handle(bench.now, Input::AttemptFinished { attempt, outcome });
        }
        bench.engine.poll(bench.now, &mut effects);
        under_way.extend(effects.iter().filter_map(|effect| {
            let Effect::StartAttempt { attempt, .. } = effect else { return None };
            Some((*attempt, bench.now + hang))
        }));
        if effects.iter().any(|effect| matches!(effect, Effect::SetGate { gate: Some(Gate::Closed), .. })) {
            break bench.now;
        }
    };
    let first = Time::ZERO + Span::from_secs(20);
    assert_eq!(closed, first + hang + Span::from_secs(1) + hang, "the third begins a second after the second");
}

#[test]
fn an_undecided_recovery_is_confirmed_at_the_fast_period_too() {
    let mut policy = hasty();
    let readiness = policy.rules.readiness.as_mut().unwrap();
    (readiness.success_threshold, readiness.failure_threshold) = (NonZeroU32::new(3).unwrap(), NonZeroU32::MIN);
    let mut bench = Bench::with(policy);
    bench.add(0);
    bench.answer(0, OutcomeClass::Refused);
    bench.pass(15);
    assert_eq!(bench.gate(0), CLOSED);
    bench.answer(0, OutcomeClass::Passed);
    bench.pass(6);
    assert_eq!(bench.gate(0), CLOSED, "at 20 and 21 it has passed twice");
    bench.pass(1);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn the_startup_period_holds_until_the_container_has_passed() {
    let mut policy = hasty();
    let readiness = policy.rules.readiness.as_mut().unwrap();
    (readiness.fast_period, readiness.startup_period) = (None, Some(Span::from_secs(1)));
    let mut bench = Bench::with(policy);
    bench.answer(0, OutcomeClass::Refused);
    bench.add(0);
    bench.pass(13);
    assert_eq!(bench.attempts, 14);
    bench.answer(0, OutcomeClass::Passed);
    bench.pass(1);
    assert_eq!((bench.gate(0), bench.attempts), (OPEN, 15));
    bench.pass(30);
    assert_eq!(bench.attempts, 18, "at 20, 30 and 40");
    bench.answer(0, OutcomeClass::Refused);
    bench.replace_container(0);
    bench.pass(5);
    assert!(bench.attempts >= 22, "the next container is asked every second again");
}
