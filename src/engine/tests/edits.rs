//! What an edit does to what is under way.

use super::restarts::stuck;
use super::*;

#[test]
fn a_lower_threshold_holds_at_once_and_a_higher_one_voids_what_waits() {
    let mut bench = stuck(policy());
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
    let mut bench = stuck(policy());
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
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(4);
    bench.set(Policy { mode: Mode::Observe, ..policy() });
    let tried = bench.restarts().len();
    bench.pass(60);
    assert_eq!((bench.restarts().len(), bench.gate(0)), (tried, OPEN));
}

#[test]
fn what_was_asked_under_the_old_question_says_nothing_under_the_new_one() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.now = bench.now + Span::from_secs(1);
    let mut asked = Vec::new();
    bench.engine.poll(bench.now, &mut asked);
    bench.set(asking_anew(policy()));
    for effect in asked {
        if let Effect::StartAttempt { attempt, .. } = effect {
            let outcome = Outcome { class: OutcomeClass::NoResponse, took: Span::ZERO };
            bench.tell(Input::AttemptFinished { attempt, outcome });
        }
    }
    bench.engine.poll(bench.now, &mut Vec::new());
    assert_eq!(bench.report().replica_reports[0].streaks.readiness, Some(0));
}

#[test]
fn a_selector_that_drops_a_replica_opens_its_gate_in_that_step() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass(2);
    assert_eq!(bench.gate(0), CLOSED);
    bench.tell(Input::PolicySet { policy: POLICY, spec: Box::new(policy()) });
    bench.show(0, |seen| (seen.policy, seen.targets) = (None, PerRule::default()));
    bench.settle();
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn an_edit_is_acknowledged_by_each_replica_once_all_its_rules_have_judged_it_under_it() {
    let mut bench = Bench::with(policy());
    (0..3).for_each(|index| bench.add(index));
    bench.pass(3);
    assert_eq!(bench.report().applied, 3);
    let rules = PerRule { readiness: Some(rule(5, 1)), ..policy().rules };
    bench.set(Policy { generation: 2, rules, ..policy() });
    bench.settle();
    assert_eq!(bench.report().applied, 0);
    bench.pass(1);
    let generations = |bench: &Bench| bench.report().replica_reports.iter().map(|it| it.applied).collect::<Vec<_>>();
    assert_eq!(generations(&bench), [Some(1); 3], "readiness has not asked since");
    bench.pass(1);
    assert_eq!((bench.report().applied, generations(&bench)), (3, vec![Some(2); 3]));
}

#[test]
fn prepared_all_leave_at_once_and_come_back_once_they_have_passed_so_often() {
    let mut bench = fleet(OnPolicyChange::Prepare);
    bench.answers.insert((7, RuleKind::Readiness), OutcomeClass::BadStatus { status: 404 });
    bench.set(asking_anew(bench_policy(OnPolicyChange::Prepare)));
    bench.settle();
    assert_eq!((in_pool(&bench), bench.report().preparing), (0, 8));
    bench.pass(1);
    assert_eq!((in_pool(&bench), bench.report().preparing), (7, 1));
    bench.pass(20);
    assert_eq!((in_pool(&bench), bench.gate(7)), (7, CLOSED));
    assert_eq!(bench.report().replica_reports[7].gate.unwrap().1.name(), "RuleFailed");
}

#[test]
fn an_added_rule_prepares_too_and_another_edit_does_not() {
    let added = bench_policy(OnPolicyChange::Prepare);
    let without = Policy { rules: PerRule { readiness: None, ..added.rules.clone() }, ..added.clone() };
    let mut bench = Bench::with(without);
    bench.add(0);
    bench.pass(3);
    bench.set(added.clone());
    bench.settle();
    assert_eq!(bench.gate(0), CLOSED);
    bench.pass(1);
    assert_eq!(bench.gate(0), OPEN);
    let mut edited = added;
    edited.rules.liveness.as_mut().unwrap().question = Question(9);
    edited.rules.readiness.as_mut().unwrap().success_threshold = std::num::NonZeroU32::new(9).unwrap();
    bench.set(edited);
    bench.pass(1);
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn rolling_a_question_that_nobody_passes_costs_so_many_replicas_as_restarts_are_allowed() {
    let mut bench = fleet(OnPolicyChange::Rolling);
    for index in 0..8 {
        bench.answers.insert((index, RuleKind::Readiness), OutcomeClass::BadStatus { status: 404 });
    }
    bench.set(asking_anew(bench_policy(OnPolicyChange::Rolling)));
    bench.pass(30);
    let report = bench.report();
    assert_eq!((in_pool(&bench), report.preparing, report.awaiting), (6, 2, 6));
    bench.answers.clear();
    bench.pass(2);
    assert_eq!((in_pool(&bench), bench.report().preparing, bench.report().awaiting), (8, 0, 0));
}

#[test]
fn rolling_keeps_the_floor() {
    let mut bench = fleet(OnPolicyChange::Rolling);
    let floor = |count| {
        let (min_ready, cooldown) = (Amount::Count(count), Span::from_secs(1));
        let floor = Some(FloorSettings { min_ready, when_below: WhenBelow::Hold, cooldown });
        Policy { floor, ..bench_policy(OnPolicyChange::Rolling) }
    };
    for (count, left) in [(7, 7), (8, 8)] {
        bench.set(floor(count));
        bench.pass(5);
        bench.set(asking_anew(floor(count)));
        bench.settle();
        assert_eq!(in_pool(&bench), left, "under a floor of {count}");
    }
    bench.pass(2);
    assert_eq!((bench.report().preparing, bench.report().awaiting), (0, 0), "who passes need not leave");
}

#[test]
fn whoever_awaits_its_turn_is_judged_as_ever_once_there_are_no_turns_any_more() {
    let mut bench = fleet(OnPolicyChange::Rolling);
    bench.answers.insert((7, RuleKind::Readiness), OutcomeClass::BadStatus { status: 404 });
    let held = Policy {
        floor: Some(FloorSettings {
            min_ready: Amount::Count(8),
            when_below: WhenBelow::Hold,
            cooldown: Span::from_secs(1),
        }),
        ..bench_policy(OnPolicyChange::Rolling)
    };
    bench.set(held.clone());
    bench.set(asking_anew(held));
    bench.pass(5);
    assert_eq!((in_pool(&bench), bench.report().awaiting), (8, 1));
    bench.set(asking_anew(bench_policy(OnPolicyChange::Keep)));
    bench.pass(3);
    assert_eq!((in_pool(&bench), bench.report().awaiting, bench.gate(7)), (7, 0, CLOSED));
}

#[test]
fn whoever_left_for_an_edit_is_only_not_judged_once_another_edit_asks_for_nothing_more() {
    let mut bench = fleet(OnPolicyChange::Prepare);
    let edited = asking_anew(bench_policy(OnPolicyChange::Prepare));
    bench.set(edited.clone());
    bench.settle();
    let reason = |bench: &Bench| bench.report().replica_reports[7].gate.unwrap().1.name();
    assert_eq!((bench.gate(7), reason(&bench)), (CLOSED, "Preparing"));
    let mut again = Policy { on_policy_change: OnPolicyChange::Keep, ..edited };
    again.rules.readiness.as_mut().unwrap().question = Question(3);
    bench.set(again);
    bench.settle();
    assert_eq!((bench.gate(7), reason(&bench)), (CLOSED, "NotJudged"));
}

/// Eight replicas in the pool, of which two may be in a restart at once; two passes make readiness pass.
fn fleet(change: OnPolicyChange) -> Bench {
    let mut bench = Bench::with(bench_policy(change));
    (0..8).for_each(|index| bench.add(index));
    bench.pass(4);
    assert_eq!(in_pool(&bench), 8);
    bench
}

fn bench_policy(on_policy_change: OnPolicyChange) -> Policy {
    let mut policy = Policy { on_policy_change, ..policy() };
    policy.restart.max_concurrent = Amount::Count(2);
    policy.rules.readiness.as_mut().unwrap().success_threshold = std::num::NonZeroU32::new(2).unwrap();
    policy
}

/// The same policy with another question under readiness than it ever had.
fn asking_anew(mut policy: Policy) -> Policy {
    policy.rules.readiness.as_mut().unwrap().question = Question(2);
    policy
}

fn in_pool(bench: &Bench) -> usize {
    bench.seen.keys().filter(|index| bench.gate(**index) == OPEN).count()
}
