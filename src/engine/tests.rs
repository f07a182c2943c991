//! What the engine must do, told by what it does in a small world.

use super::test_support::{Bench, OWNER, POLICY, key, policy};
use super::*;

const OPEN: GateSeen = GateSeen::Set(Gate::Open);
const CLOSED: GateSeen = GateSeen::Set(Gate::Closed);

mod gates {
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
        let mut bench = Bench::with(policy());
        bench.add(0);
        bench.pass(3);
        bench.answer(0, OutcomeClass::NoResponse);
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
}

mod restarts {
    use super::*;

    /// One replica that passed everything until second 3 and answers nothing from then on.
    fn stuck(policy: Policy) -> Bench {
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
}

mod seats {
    use super::*;

    /// Shows a replica that its owner gives no place.
    fn add_unnumbered(bench: &mut Bench, index: u32) {
        bench.add_as(index, |seen| seen.place = Place::Any);
    }

    #[test]
    fn a_loop_is_a_loop_across_new_names() {
        let mut bench = Bench::with(policy());
        add_unnumbered(&mut bench, 0);
        bench.pass(3);
        let mut last = 0;
        for _ in 0..200 {
            bench.answer(last, OutcomeClass::NoResponse);
            bench.answers.insert((last, RuleKind::Startup), OutcomeClass::Passed);
            bench.pass(1);
            if bench.restarts().len() as u32 > last {
                bench.show(last, |seen| seen.lifecycle = Lifecycle::Terminating);
                let gone = last;
                last += 1;
                add_unnumbered(&mut bench, last);
                bench.settle();
                bench.tell(Input::ReplicaGone { replica: key(gone) });
            }
        }
        let at: Vec<u64> = bench.restarts().iter().map(|(at, _)| *at).collect();
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!((gaps, bench.report().in_loop), (vec![10, 20, 40, 80], 1));
        assert_eq!(bench.report().seats.len(), 1);
    }

    #[test]
    fn a_remembered_seat_keeps_its_backoff_under_a_new_engine() {
        let mut bench = Bench::with(policy());
        bench.now = Time::ZERO + Span::from_secs(100);
        let memory = SeatMemory {
            restarts: 3,
            last: Some(Time::ZERO + Span::from_secs(95)),
            occupant: Some(key(0)),
            ..SeatMemory::default()
        };
        bench.tell(Input::SeatRestored {
            policy: POLICY,
            seat: SeatKey { owner: OWNER, slot: Slot::Ordinal(0) },
            memory,
        });
        bench.add(0);
        bench.pass(3);
        bench.answer(0, OutcomeClass::NoResponse);
        bench.pass(60);
        assert_eq!(bench.restarts(), [(135, 0)]);
    }

    fn restored_intent(replica: Option<ReplicaKey>) -> Bench {
        let mut bench = Bench::with(policy());
        bench.now = Time::ZERO + Span::from_secs(100);
        let at = Time::ZERO + Span::from_secs(90);
        let intent = Intent { replica, rule: RuleKind::Liveness, at, stage: IntentStage::Recorded };
        let memory = SeatMemory { intent: Some(intent), occupant: replica, ..SeatMemory::default() };
        let seat = SeatKey { owner: OWNER, slot: Slot::Ordinal(0) };
        bench.tell(Input::SeatRestored { policy: POLICY, seat, memory });
        bench.add(0);
        bench.settle();
        bench
    }

    #[test]
    fn an_intent_whose_replica_is_untouched_was_never_carried_out() {
        let bench = restored_intent(Some(key(0)));
        let memory = bench.report().seats.first().map(|seat| seat.memory).unwrap_or_default();
        assert_eq!((memory.restarts, memory.intent), (0, None));
    }

    #[test]
    fn an_intent_whose_replica_is_gone_was_carried_out_and_counts() {
        let mut bench = restored_intent(None);
        assert_eq!(bench.report().seats[0].memory.restarts, 1);
        bench.pass(3);
        assert_eq!(bench.report().seats[0].memory.intent, None);
        assert_eq!(bench.restarts(), []);
    }
}

mod verdicts {
    use super::*;

    /// A replica as an engine before this one left it.
    fn remembered(gate: Gate) -> Bench {
        let mut bench = Bench::with(policy());
        bench.add_as(0, |seen| {
            seen.gate = GateSeen::Set(gate);
            for kind in RuleKind::ALL {
                let Some(Target::Container(container)) = &mut seen.targets[kind] else { continue };
                container.remembered = Some(Remembered { started: true });
            }
        });
        bench
    }

    #[test]
    fn a_new_engine_moves_no_verdict_in_either_direction() {
        for gate in [Gate::Open, Gate::Closed] {
            let mut bench = remembered(gate);
            bench.answer(0, OutcomeClass::ProberError);
            bench.pass(20);
            assert_eq!((bench.gate(0), bench.done.len()), (GateSeen::Set(gate), 0));
        }
    }

    #[test]
    fn a_remembered_start_is_not_asked_for_again() {
        let mut bench = remembered(Gate::Open);
        bench.answers.insert((0, RuleKind::Startup), OutcomeClass::NoResponse);
        bench.pass(60);
        assert_eq!(bench.restarts(), []);
    }

    #[test]
    fn nothing_is_decided_before_the_first_lists_are_complete() {
        let mut bench = Bench::new();
        bench.set(policy());
        bench.add(0);
        bench.pass(5);
        assert_eq!((bench.attempts, bench.done.len()), (0, 0));
    }
}

mod edits {
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
            rules: PerRule { startup: None, liveness: Some(super::super::test_support::rule(600, 3)), readiness: None },
            ..policy()
        });
        bench.add(0);
        bench.pass(3);
        assert_eq!(bench.attempts, 1);
        let mut edited = policy();
        edited.rules =
            PerRule { startup: None, liveness: Some(super::super::test_support::rule(2, 3)), readiness: None };
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
}
