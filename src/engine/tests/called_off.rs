//! Restarts that were decided and written down, and are not wanted any more when that is acknowledged.

use super::one_instant::ask;
use super::*;

/// A replica whose rule of that kind has just asked for a restart, with the intent on its way.
fn intended(policy: Policy, kind: RuleKind) -> Bench {
    let mut bench = Bench::with(policy);
    bench.add(0);
    if kind == RuleKind::Liveness {
        bench.pass(2);
    }
    bench.answer(0, OutcomeClass::Refused);
    fail_until_intended(&mut bench, kind);
    bench
}

fn fail_until_intended(bench: &mut Bench, kind: RuleKind) {
    let mut is_intended = false;
    while !is_intended {
        bench.now = bench.now + Span::from_secs(1);
        ask(bench, OutcomeClass::Refused);
        let effects = bench.poll();
        is_intended = effects.iter().any(|effect| matches!(effect, Effect::RecordIntent { rule, .. } if *rule == kind));
    }
}

fn restarts(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Restart { .. })).count()
}

/// The intent to restart the replica for the container that it has now.
fn intent(bench: &Bench) -> IntentId {
    let Some(Target::Container(container)) = bench.seen[&0].targets.liveness else { panic!("it has none") };
    IntentId { policy: POLICY, replica: key(0), incarnation: container.incarnation }
}

fn acknowledged(bench: &mut Bench) -> Vec<Effect> {
    let intent = intent(bench);
    acknowledge(bench, intent)
}

fn acknowledge(bench: &mut Bench, intent: IntentId) -> Vec<Effect> {
    bench.tell(Input::IntentResult { intent, result: EffectResult::Applied });
    bench.poll()
}

#[test]
fn one_that_is_called_off_leaves_nothing_that_is_due_already() {
    let mut policy = policy();
    policy.restart.backoff = Backoff { initial: Span::ZERO, max: Span::ZERO, reset_after: Span::from_secs(1) };
    let mut bench = intended(policy.clone(), RuleKind::Liveness);
    acknowledged(&mut bench);
    bench.tell(Input::RestartResult { policy: POLICY, replica: key(0), result: EffectResult::Applied });
    bench.replace_container(0);
    bench.answer(0, OutcomeClass::Passed);
    bench.settle();
    bench.pass(1);
    // Its seat is to be forgotten in a moment, and a restart of it is decided before.
    policy.restart.backoff.reset_after = Span::from_secs(5);
    policy.rules.liveness = Some(rule(1, 1));
    bench.set(policy.clone());
    bench.settle();
    bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::Refused);
    bench.intent_result = EffectResult::Unknown;
    bench.now = bench.now + Span::from_secs(1);
    ask(&mut bench, OutcomeClass::Refused);
    bench.poll();
    bench.now = bench.now + Span::from_secs(10);
    policy.mode = Mode::Observe;
    bench.set(policy);
    acknowledged(&mut bench);
    assert!(bench.engine.next_deadline().is_none_or(|(at, _)| at > bench.now), "{:?}", bench.engine.next_deadline());
}

#[test]
fn one_whose_rule_was_removed_is_not_ordered_for_another_rule() {
    let mut edited = policy();
    let mut bench = intended(edited.clone(), RuleKind::Startup);
    edited.rules.startup = None;
    edited.rules.liveness = Some(rule(1, 1));
    bench.set(edited);
    bench.now = bench.now + Span::from_secs(1);
    ask(&mut bench, OutcomeClass::Refused);
    let effects = acknowledged(&mut bench);
    assert_eq!(restarts(&effects), 0, "{effects:?}");
}

#[test]
fn what_was_written_down_for_one_that_is_called_off_does_not_go_for_the_next() {
    let mut bench = intended(policy(), RuleKind::Liveness);
    let called_off = intent(&bench);
    bench.tell(Input::IntentResult { intent: called_off, result: EffectResult::Applied });
    intended_anew(&mut bench);
    bench.tell(Input::NodeSeen { node: NodeKey(0), state: NodeState::Ready });
    assert_eq!(restarts(&bench.poll()), 0);
    assert_eq!(restarts(&acknowledged(&mut bench)), 1);
}

#[test]
fn nor_does_it_if_that_is_heard_only_then() {
    let mut bench = intended(policy(), RuleKind::Liveness);
    let called_off = intent(&bench);
    intended_anew(&mut bench);
    assert_eq!(restarts(&acknowledge(&mut bench, called_off)), 0);
    assert_eq!(restarts(&acknowledged(&mut bench)), 1);
}

#[test]
fn nor_does_the_answer_to_a_restart_of_a_policy_that_is_gone() {
    let mut bench = intended(policy(), RuleKind::Liveness);
    assert_eq!(restarts(&acknowledged(&mut bench)), 1);
    let next = PolicyKey(1);
    bench.tell(Input::PolicyRemoved { policy: POLICY });
    bench.tell(Input::PolicySet { policy: next, spec: Box::new(policy()) });
    bench.tell(Input::PassedBefore { policy: next, rules: PerRule { liveness: true, ..PerRule::default() } });
    bench.show(0, |seen| seen.policy = Some(next));
    bench.poll();
    let intended = IntentId { policy: next, ..intent(&bench) };
    assert_eq!(restarts(&acknowledge(&mut bench, intended)), 1);
    let refused = EffectResult::Refused(Refusal::Budget);
    bench.tell(Input::RestartResult { policy: POLICY, replica: key(0), result: refused });
    bench.tell(Input::RestartResult { policy: next, replica: key(0), result: EffectResult::Applied });
    bench.poll();
    assert_eq!(bench.engine.report(next, bench.now).unwrap().restarts, 1);
}

/// Somebody else replaces the container, and the next one fails too.
fn intended_anew(bench: &mut Bench) {
    bench.replace_container(0);
    bench.answer(0, OutcomeClass::Passed);
    bench.pass(2);
    assert_eq!(bench.restarts(), []);
    fail_until_intended(bench, RuleKind::Liveness);
}

#[test]
fn a_replica_that_was_given_up_and_starts_after_all_was_never_below_the_floor() {
    let floor =
        FloorSettings { min_ready: Amount::Count(1), when_below: WhenBelow::Hold, cooldown: Span::from_secs(9) };
    let mut bench = Bench::new();
    bench.set(Policy { floor: Some(floor), ..policy() });
    bench.tell(Input::PassedBefore {
        policy: POLICY,
        rules: PerRule { startup: true, liveness: true, readiness: true },
    });
    let seat = SeatKey { owner: OWNER, slot: Slot::Ordinal(0) };
    let memory = SeatMemory { restarts: 5, futile: 5, last: Some(bench.now), ..SeatMemory::default() };
    bench.tell(Input::SeatRestored { policy: POLICY, seat, memory });
    bench.tell(Input::Synced);
    bench.add(0);
    bench.answer(0, OutcomeClass::Refused);
    bench.pass(10);
    assert_eq!(bench.report().gave_up, 1);
    bench.answer(0, OutcomeClass::Passed);
    bench.pass(3);
    assert_eq!((bench.gate(0), bench.fleet_told()), (OPEN, vec![]));
}
