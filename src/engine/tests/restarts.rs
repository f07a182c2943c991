//! Who is restarted, when, and by whom it is held up.

use super::*;

/// One replica that passed everything until second 3 and answers nothing from then on.
pub(super) fn stuck(policy: Policy) -> Bench {
    let mut bench = Bench::with(policy);
    bench.add(0);
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench
}

#[test]
fn a_stuck_replica_is_restarted_once_at_the_threshold() {
    let mut bench = stuck(policy());
    bench.pass(60);
    assert_eq!(bench.restarts(), [(6, 0)]);
}

#[test]
fn the_intent_is_acknowledged_before_anybody_is_restarted() {
    let mut bench = stuck(policy());
    bench.intent_result = EffectResult::Refused(Refusal::Changed);
    bench.pass(30);
    assert_eq!(bench.restarts(), []);
    bench.intent_result = EffectResult::Applied;
    bench.pass(40);
    assert_eq!(bench.restarts().len(), 1);
}

#[test]
fn a_refused_eviction_is_told_and_tried_again_with_growing_pauses() {
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(60);
    let at: Vec<u64> = bench.restarts().into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [6, 7, 9, 13, 21, 37]);
    assert_eq!(
        bench.report().replica_reports[0].wants_restart,
        Some((RuleKind::Liveness, Some(Obstacle::Refused(Refusal::Budget)),))
    );
    assert_eq!(bench.report().restarts, 0);
}

#[test]
fn a_replica_that_recovers_while_it_waits_is_not_restarted() {
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(4);
    bench.answers.clear();
    bench.restart_result = EffectResult::Applied;
    let tried = bench.restarts().len();
    bench.pass(60);
    assert_eq!(bench.restarts().len(), tried);
}

#[test]
fn no_more_seats_are_in_a_restart_than_allowed() {
    let mut bench = Bench::with(policy());
    for index in 0..4 {
        bench.add(index);
    }
    bench.pass(3);
    for index in 0..4 {
        bench.answer(index, OutcomeClass::NoResponse);
    }
    bench.pass(20);
    assert_eq!(bench.restarts(), [(6, 0)]);
    bench.answers.retain(|(index, _), _| *index != 0);
    bench.replace_container(0);
    bench.pass(3);
    assert_eq!(bench.restarts()[1..], [(bench.restarts()[1].0, 1)]);
}

#[test]
fn the_backoff_of_a_seat_grows_with_each_restart() {
    let mut bench = stuck(policy());
    let mut at = Vec::new();
    for _ in 0..200 {
        bench.pass(1);
        if let Some((second, _)) = bench.restarts().get(at.len()) {
            at.push(*second);
            bench.replace_container(0);
            bench.answers.insert((0, RuleKind::Startup), OutcomeClass::Passed);
        }
    }
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [10, 20, 40, 80]);
    assert!(bench.told(0).contains(&(at[2], TransitionKind::LoopBegan)));
    assert_eq!(bench.report().in_loop, 1);
}

#[test]
fn a_seat_without_a_restart_for_a_while_begins_anew() {
    let mut bench = stuck(policy());
    bench.pass(3);
    bench.answers.clear();
    bench.replace_container(0);
    bench.pass(10);
    assert_eq!(bench.report().seats.len(), 1);
    bench.pass(600);
    assert_eq!(bench.report().seats, []);
}

#[test]
fn a_seat_that_does_not_come_back_in_time_is_told_and_gives_its_slot_up() {
    let mut bench = stuck(policy());
    bench.pass(610);
    assert!(bench.told(0).contains(&(606, TransitionKind::DidNotReturn)));
    assert_eq!(bench.report().restarts_futile, 1);
}

#[test]
fn a_restart_by_the_kubelet_voids_ours_and_counts_for_the_loop() {
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(3);
    bench.restart_result = EffectResult::Applied;
    let tried = bench.restarts().len();
    bench.answers.clear();
    for _ in 0..3 {
        bench.replace_container(0);
        bench.pass(5);
    }
    assert_eq!(bench.restarts().len(), tried);
    let memory = bench.report().seats[0].memory;
    assert_eq!((memory.restarts, memory.foreign, bench.report().in_loop), (0, 3, 1));
}

#[test]
fn a_lost_answer_counts_as_done_until_the_replica_is_seen_untouched() {
    let mut bench = stuck(policy());
    bench.restart_result = EffectResult::Unknown;
    bench.pass(5);
    assert_eq!(bench.report().restarts, 1);
    bench.restart_result = EffectResult::Applied;
    bench.pass(10);
    assert_eq!((bench.report().restarts, bench.restarts().len()), (1, 2));
}

#[test]
fn nobody_is_restarted_whom_nothing_would_create_again() {
    let obstacle = |owner: Option<Owner>| {
        let mut bench = Bench::with(policy());
        bench.add(0);
        match owner {
            Some(seen) => bench.tell(Input::OwnerSeen { owner: OWNER, seen }),
            None => bench.show(0, |seen| seen.owner = None),
        }
        bench.pass(3);
        bench.answer(0, OutcomeClass::NoResponse);
        bench.pass(30);
        assert_eq!(bench.restarts(), []);
        bench.report().replica_reports[0].wants_restart.unwrap().1.unwrap()
    };
    let owner = |kind, desired| Some(Owner { kind, desired, first: 0 });
    assert_eq!(obstacle(None), Obstacle::NotRecreated);
    assert_eq!(obstacle(owner(OwnerKind::Job, 1)), Obstacle::NotRecreated);
    assert_eq!(obstacle(owner(OwnerKind::Other, 0)), Obstacle::NotRecreated);
    assert_eq!(obstacle(owner(OwnerKind::OnDelete, 1)), Obstacle::OnDelete);
    assert_eq!(obstacle(owner(OwnerKind::Recreates, 0)), Obstacle::ScaledDown);
}

#[test]
fn under_an_owner_of_an_unknown_kind_a_replica_is_restarted_where_the_policy_says_so() {
    let restart = RestartSettings { other_owners: OtherOwners::Restart, ..policy().restart };
    let mut bench = Bench::with(Policy { restart, ..policy() });
    let seen = Owner { kind: OwnerKind::Other, desired: 0, first: 0 };
    bench.tell(Input::OwnerSeen { owner: OWNER, seen });
    bench.add(0);
    bench.add(1);
    bench.pass(3);
    bench.answer(1, OutcomeClass::NoResponse);
    bench.pass(20);
    assert_eq!(bench.restarts().len(), 1);
}

#[test]
fn an_ordered_set_waits_for_its_lower_ordinals() {
    let mut bench = Bench::with(Policy {
        restart: RestartSettings { max_concurrent: Amount::Percent(100), ..policy().restart },
        ..policy()
    });
    let seen = Owner { kind: OwnerKind::RecreatesInOrder, desired: 2, first: 0 };
    bench.tell(Input::OwnerSeen { owner: OWNER, seen });
    bench.add(0);
    bench.add(1);
    bench.pass(3);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::BadStatus { status: 503 });
    bench.pass(1);
    bench.answer(1, OutcomeClass::NoResponse);
    bench.pass(20);
    assert_eq!(bench.restarts(), []);
    bench.answers.remove(&(0, RuleKind::Readiness));
    bench.pass(2);
    assert_eq!(bench.restarts().len(), 1);
}

#[test]
fn nobody_is_restarted_on_a_node_that_does_not_report() {
    let mut bench = stuck(policy());
    bench.show(0, |seen| seen.node = Some(NodeKey(0)));
    bench.tell(Input::NodeSeen { node: NodeKey(0), state: NodeState::NotReady });
    bench.pass(20);
    assert_eq!(bench.restarts(), []);
    bench.tell(Input::NodeSeen { node: NodeKey(0), state: NodeState::Ready });
    bench.pass(1);
    assert_eq!(bench.restarts().len(), 1);
}

#[test]
fn a_terminating_replica_is_asked_nothing_and_its_gate_is_left_alone() {
    let mut bench = stuck(policy());
    bench.show(0, |seen| seen.lifecycle = Lifecycle::Terminating);
    bench.settle();
    let before = (bench.attempts, bench.done.len());
    bench.pass(60);
    assert_eq!((bench.attempts, bench.done.len()), before);
    assert_eq!(bench.engine.next_deadline(), None);
}

#[test]
fn a_budget_that_is_spent_holds_restarts_until_it_grows_and_says_when() {
    let budget = BudgetSettings { restarts: NonZeroU32::new(2).unwrap(), per: Span::from_secs(200) };
    let mut bench = Bench::with(Policy { restart: unguarded(Some(budget)), ..policy() });
    (0..4).for_each(|index| bench.add(index));
    bench.pass(3);
    (0..4).for_each(|index| bench.answer(index, OutcomeClass::NoResponse));
    bench.pass(150);
    assert_eq!(bench.restarts(), [(6, 0), (6, 1), (106, 2)]);
    let (_, by) = bench.report().replica_reports[3].wants_restart.unwrap();
    let next = Time::ZERO + Span::from_secs(206);
    assert_eq!(by, Some(Obstacle::RestartBudget { restarts: 2, per: Span::from_secs(200), next }));
    let left = BudgetReport { left: 0, next: Some(next), whole_at: Some(next + Span::from_secs(100)) };
    assert_eq!(bench.report().budget, Some(left));
    bench.pass(60);
    assert_eq!(bench.restarts().last(), Some(&(206, 3)));
}

#[test]
fn a_refused_restart_spends_nothing_and_a_later_engine_knows_what_was_spent() {
    let budget = BudgetSettings { restarts: NonZeroU32::new(1).unwrap(), per: Span::from_secs(100) };
    let spec = Policy { restart: unguarded(Some(budget)), ..policy() };
    let mut bench = stuck(spec.clone());
    bench.restart_result = EffectResult::Refused(Refusal::Budget);
    bench.pass(5);
    assert_eq!(bench.report().budget.unwrap().left, 1);
    bench.restart_result = EffectResult::Applied;
    bench.pass(10);
    let whole_at = bench.report().budget.unwrap().whole_at.unwrap();
    assert_eq!(bench.report().budget.unwrap().left, 0);

    let mut later = Bench::with(spec);
    later.now = bench.now;
    later.tell(Input::BudgetRestored { policy: POLICY, whole_at });
    later.add(1);
    later.pass(1);
    later.answer(1, OutcomeClass::NoResponse);
    later.pass(120);
    let (at, _) = later.restarts()[0];
    assert_eq!(Time::ZERO + Span::from_secs(at), Time::from_nanos(whole_at.as_nanos().next_multiple_of(1_000_000_000)));
}

/// Only the budget holds restarts back.
fn unguarded(budget: Option<BudgetSettings>) -> RestartSettings {
    RestartSettings {
        max_concurrent: Amount::Percent(100),
        backoff: Backoff { initial: Span::ZERO, ..policy().restart.backoff },
        budget,
        ..policy().restart
    }
}
