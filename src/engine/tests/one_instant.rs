//! What becomes known at one instant is decided on together, in whatever order it was told.

use super::*;

/// The attempts that begin now; nothing else is carried out, and nobody answers.
pub(super) fn asked(bench: &mut Bench) -> Vec<AttemptId> {
    let attempt = |effect| match effect {
        Effect::StartAttempt { attempt, .. } => Some(attempt),
        Effect::AskDependency { .. }
        | Effect::SetGate { .. }
        | Effect::RecordIntent { .. }
        | Effect::Restart { .. }
        | Effect::Record(_)
        | Effect::RecordFleet(_)
        | Effect::Published { .. }
        | Effect::Took { .. } => None,
    };
    bench.poll().into_iter().filter_map(attempt).collect()
}

/// Answers every attempt that begins now, and carries out nothing else.
pub(super) fn ask(bench: &mut Bench, class: OutcomeClass) {
    let attempts = asked(bench);
    answered(bench, &attempts, class);
}

pub(super) fn answered(bench: &mut Bench, attempts: &[AttemptId], class: OutcomeClass) {
    for attempt in attempts {
        let outcome = Outcome { class, took: Span::ZERO };
        bench.tell(Input::AttemptFinished { attempt: *attempt, outcome });
    }
}

fn floor_of(count: u32) -> Policy {
    let (min_ready, cooldown) = (Amount::Count(count), Span::from_secs(10));
    Policy { floor: Some(FloorSettings { min_ready, when_below: WhenBelow::Hold, cooldown }), ..policy() }
}

fn in_pool(bench: &Bench) -> Vec<u32> {
    bench.seen.keys().copied().filter(|index| bench.gate(*index) == OPEN).collect()
}

#[test]
fn a_late_pass_of_the_container_before_starts_nobody() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::Refused);
    let attempts = asked(&mut bench);
    bench.replace_container(0);
    answered(&mut bench, &attempts, OutcomeClass::Passed);
    bench.settle();
    assert_eq!((attempts.len(), bench.report().starting), (1, 1));
}

#[test]
fn a_late_pass_of_the_question_before_an_edit_proves_nothing_of_the_new_one() {
    let mut bench = Bench::new();
    bench.set(policy());
    bench.tell(Input::Synced);
    bench.add(0);
    bench.answer(0, OutcomeClass::Refused);
    let attempts = asked(&mut bench);
    let mut edited = policy();
    edited.rules.startup = Some(Rule { question: Question(2), ..rule(1, 6) });
    bench.set(edited);
    answered(&mut bench, &attempts, OutcomeClass::Passed);
    bench.settle();
    assert_eq!((attempts.len(), bench.report().starting), (1, 1));
    assert!(!bench.report().rules.startup.unwrap().ever_passed);
}

#[test]
fn an_answer_that_comes_with_a_pause_is_void() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.now = bench.now + Span::from_secs(1);
    let attempts = asked(&mut bench);
    bench.set(Policy { mode: Mode::Paused, ..policy() });
    answered(&mut bench, &attempts, OutcomeClass::Refused);
    bench.settle();
    bench.set(policy());
    bench.pass(3);
    assert_eq!((attempts.len(), bench.gate(0)), (2, OPEN));
    assert!(!bench.told(0).iter().any(|(_, kind)| *kind == TransitionKind::Ejected));
}

#[test]
fn a_replica_that_is_new_is_not_taken_for_ready_while_another_is_decided_on() {
    let mut bench = Bench::with(floor_of(2));
    bench.add(0);
    bench.add(1);
    bench.pass(3);
    bench.now = bench.now + Span::from_secs(1);
    let attempts = asked(&mut bench);
    bench.add(2);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Refused);
    let is_failed = |attempt: &&AttemptId| attempt.replica == key(0) && attempt.rule == RuleKind::Readiness;
    let failed: Vec<_> = attempts.iter().filter(is_failed).copied().collect();
    answered(&mut bench, &failed, OutcomeClass::Refused);
    bench.settle();
    assert_eq!((failed.len(), in_pool(&bench)), (1, vec![0, 1]));
}

#[test]
fn the_first_pass_of_a_rule_counts_all_others_before_anybody_is_ejected() {
    let mut unready = floor_of(3);
    let readiness = unready.rules.readiness.take();
    let mut bench = Bench::with(unready.clone());
    (0..4).for_each(|index| bench.add(index));
    bench.pass(3);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Refused);
    bench.answers.insert((1, RuleKind::Readiness), OutcomeClass::Refused);
    unready.rules.readiness = readiness;
    bench.set(unready);
    bench.pass(3);
    assert_eq!(in_pool(&bench), [0, 1, 2, 3]);
}

#[test]
fn a_replica_that_comes_back_to_its_policy_is_counted_once() {
    let mut bench = Bench::with(floor_of(2));
    (0..3).for_each(|index| bench.add(index));
    bench.pass(3);
    bench.show(2, |seen| seen.policy = None);
    bench.show(2, |seen| seen.policy = Some(POLICY));
    bench.pass(1);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Refused);
    bench.pass(2);
    assert_eq!(in_pool(&bench), [1, 2]);
    bench.answers.insert((1, RuleKind::Readiness), OutcomeClass::Refused);
    bench.pass(2);
    assert_eq!(in_pool(&bench), [1, 2]);
}
