//! What a controller makes of the time in which it was frozen, or another one led.

use super::one_instant::{answered, asked};
use super::*;

#[test]
fn an_answer_that_is_heard_long_after_its_deadline_is_void() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.now = bench.now + Span::from_secs(1);
    let attempts = asked(&mut bench);
    bench.now = bench.now + Span::from_secs(6);
    answered(&mut bench, &attempts, OutcomeClass::NoResponse);
    bench.pass(1);
    assert_eq!((attempts.len(), bench.gate(0)), (2, OPEN));
    assert!(!bench.told(0).iter().any(|(_, kind)| *kind == TransitionKind::Ejected));
}

#[test]
fn what_was_missed_while_frozen_is_left_out_and_not_made_up_for() {
    let rules = PerRule { startup: None, liveness: Some(rule(10, 3)), readiness: None };
    let mut bench = Bench::with(Policy { rules, phase: Phase::Spread, ..policy() });
    (0..40).for_each(|index| bench.add(index));
    bench.pass(30);
    bench.now = bench.now + Span::from_millis(25_500);
    let at_once = asked(&mut bench);
    assert!(at_once.len() < 10, "{} at once", at_once.len());
    answered(&mut bench, &at_once, OutcomeClass::Passed);
    let before = bench.attempts;
    bench.pass(10);
    assert_eq!(bench.attempts - before + at_once.len() as u32, 40);
}

#[test]
fn a_restart_that_was_remembered_from_a_clock_ahead_of_ours_ends_at_its_deadline() {
    let mut bench = Bench::new();
    bench.set(policy());
    let at = bench.now + Span::from_secs(100_000);
    let intent = Intent { replica: None, rule: RuleKind::Liveness, at, stage: IntentStage::CarriedOut };
    let memory = SeatMemory { restarts: 1, last: Some(at), intent: Some(intent), ..SeatMemory::default() };
    let seat = SeatKey { owner: OWNER, slot: Slot::Ordinal(0) };
    bench.tell(Input::SeatRestored { policy: POLICY, seat, memory });
    bench.tell(Input::Synced);
    bench.settle();
    assert_eq!(bench.report().seats[0].memory.last, Some(bench.now));
    bench.pass(601);
    assert!(bench.report().seats.iter().all(|seat| seat.memory.intent.is_none()));
}
