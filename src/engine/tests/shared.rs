//! Failures that replicas share with those of their node or revision.

use super::*;

/// The policy with the breaker and the hold on shared failures, and without the other guards.
fn guarded() -> Policy {
    let guarded = breaker::guarded();
    Policy { fleet: FleetSettings { shared_failure: SharedFailure::Hold, ..guarded.fleet }, ..guarded }
}

/// Ten replicas, which passed everything until second 3; of them 7, 8 and 9 are on another node or of another revision.
fn fleet(policy: Policy, change: impl Fn(&mut Observation)) -> Bench {
    let mut bench = Bench::with(policy);
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 10, first: 0 } });
    for index in 0..10 {
        bench.add_as(index, |seen| {
            (seen.node, seen.revision) = (Some(NodeKey(0)), Some(RevisionKey(0)));
            if OTHERS.contains(&index) {
                change(seen);
            }
        });
    }
    bench.pass(3);
    bench
}

const OTHERS: std::ops::Range<u32> = 7..10;

fn on_another_node(seen: &mut Observation) {
    seen.node = Some(NodeKey(1));
}

fn of_another_revision(seen: &mut Observation) {
    seen.revision = Some(RevisionKey(1));
}

fn all_others(bench: &mut Bench, class: OutcomeClass) {
    OTHERS.for_each(|index| bench.answer(index, class));
}

fn are_in(bench: &Bench) -> Vec<bool> {
    OTHERS.map(|index| bench.gate(index) == GateSeen::Set(Gate::Open)).collect()
}

#[test]
fn behind_a_cut_path_nobody_is_ejected_or_restarted() {
    let mut bench = fleet(guarded(), on_another_node);
    all_others(&mut bench, OutcomeClass::ConnectTimeout);
    bench.pass(50);
    assert_eq!((are_in(&bench), bench.restarts()), (vec![true; 3], vec![]));
    let report = bench.report();
    let [PartReport { part: Part::Node(NodeKey(1)), failing: 3, judged: 3, last, .. }] = report.parts[..] else {
        panic!("{:?}", report.parts)
    };
    assert_eq!(last, Some(OutcomeClass::ConnectTimeout));
    let by = report.replica_reports[9].wants_restart.unwrap().1.unwrap();
    let told = "its node's breaker is open, with 3 of 3 judged replicas there unreachable";
    assert_eq!((by.name(), by.to_string().as_str()), ("NodeUnreachable", told));
    let (_, reason) = report.replica_reports[9].gate.unwrap();
    assert!(reason.to_string().ends_with("the failure is shared by 3 of 3 replicas on its node: connect timeout"));
}

#[test]
fn when_the_path_is_back_nobody_is_restarted_for_what_was_before() {
    let mut bench = fleet(guarded(), on_another_node);
    all_others(&mut bench, OutcomeClass::ConnectTimeout);
    bench.pass(30);
    bench.answer(7, OutcomeClass::Passed);
    bench.pass(2);
    all_others(&mut bench, OutcomeClass::Passed);
    bench.pass(90);
    assert_eq!((bench.restarts(), bench.report().parts), (vec![], vec![]));
    let told = bench.fleet_told().into_iter().map(|(_, kind)| kind);
    assert_eq!(told.collect::<Vec<_>>(), [FleetTransitionKind::BreakerOpened, FleetTransitionKind::BreakerClosed]);
}

#[test]
fn a_trial_decides_whether_restarts_help_behind_a_cut_path() {
    let mut bench = fleet(guarded(), on_another_node);
    all_others(&mut bench, OutcomeClass::ConnectTimeout);
    bench.pass(61);
    assert_eq!(bench.restarts(), [(64, 7)]);
    bench.answer(7, OutcomeClass::Passed);
    bench.show(7, |seen| seen.node = Some(NodeKey(0)));
    bench.replace_container(7);
    bench.pass(2);
    assert_eq!(bench.restarts(), [(64, 7), (65, 8), (65, 9)]);
}

#[test]
fn replicas_of_one_node_that_were_reached_fail_for_themselves() {
    for class in [OutcomeClass::NoResponse, OutcomeClass::BadStatus { status: 500 }] {
        let mut bench = fleet(guarded(), on_another_node);
        all_others(&mut bench, class);
        bench.pass(5);
        assert_eq!((are_in(&bench), bench.restarts().len()), (vec![false; 3], 3), "{class}");
    }
}

#[test]
fn on_the_only_node_nothing_is_told_from_the_fleet() {
    let mut bench = fleet(guarded(), |_| {});
    all_others(&mut bench, OutcomeClass::ConnectTimeout);
    bench.pass(5);
    assert_eq!((are_in(&bench), bench.restarts().len()), (vec![false; 3], 3));
}

#[test]
fn a_bad_revision_is_ejected_and_not_restarted_but_for_a_trial() {
    let mut bench = fleet(guarded(), of_another_revision);
    all_others(&mut bench, OutcomeClass::BadStatus { status: 500 });
    bench.pass(50);
    assert_eq!((are_in(&bench), bench.restarts()), (vec![false; 3], vec![]));
    let held = bench.report().replica_reports[7].wants_restart;
    let by = Obstacle::Breaker { among: Among::Revision, suspect: 3, judged: 3 };
    assert_eq!(held, Some((RuleKind::Liveness, Some(by))));
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(5);
    assert_eq!(bench.restarts(), [(56, 0)], "the old one is judged for itself");
    bench.pass(10);
    assert_eq!(bench.restarts(), [(56, 0), (64, 7)]);
}

#[test]
fn most_of_the_fleet_is_ejected_if_it_is_a_revision_and_another_passes() {
    let mut bench = fleet(guarded(), of_another_revision);
    for index in 0..7 {
        bench.answer(index, OutcomeClass::BadStatus { status: 503 });
    }
    bench.pass(5);
    let is_in = |index| bench.gate(index) == GateSeen::Set(Gate::Open);
    assert_eq!((0..10).map(is_in).collect::<Vec<_>>(), [[false; 7].as_slice(), &[true; 3]].concat());
}

#[test]
fn failures_of_different_classes_are_not_one_shared_fault() {
    let mut apart = fleet(guarded(), |_| {});
    for index in 0..6 {
        let classes = [OutcomeClass::NotServing, OutcomeClass::BadBody, OutcomeClass::BadStatus { status: 500 }];
        apart.answer(index, classes[index as usize % 3]);
    }
    let mut alike = fleet(guarded(), |_| {});
    for index in 0..6 {
        alike.answer(index, [OutcomeClass::NoResponse, OutcomeClass::ConnectTimeout][index as usize % 2]);
    }
    for (bench, is_in) in [(&mut apart, false), (&mut alike, true)] {
        bench.pass(5);
        for index in 0..6 {
            assert_eq!(bench.gate(index) == GateSeen::Set(Gate::Open), is_in, "{index}");
        }
    }
}

/// Two replicas of another revision come, and fail to start.
fn that_cannot_start() -> Bench {
    let mut bench = fleet(guarded(), |_| {});
    for index in 10..12 {
        bench.answers.insert((index, RuleKind::Startup), OutcomeClass::Refused);
        bench.add_as(index, |seen| seen.revision = Some(RevisionKey(1)));
    }
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 12, first: 0 } });
    bench
}

#[test]
fn a_revision_that_does_not_start_is_not_restarted_but_for_a_trial() {
    let mut bench = that_cannot_start();
    bench.pass(50);
    let held = bench.report().replica_reports[10].wants_restart;
    let by = Obstacle::Breaker { among: Among::Starting, suspect: 2, judged: 2 };
    assert_eq!((bench.restarts(), held), (vec![], Some((RuleKind::Startup, Some(by)))));
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(5);
    assert_eq!(bench.restarts(), [(56, 0)], "others are not affected");
    bench.pass(15);
    assert_eq!(bench.restarts(), [(56, 0), (68, 10)]);
}

#[test]
fn one_after_the_other_does_not_slip_past_the_breaker_of_startup() {
    let mut bench = fleet(guarded(), |_| {});
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 14, first: 0 } });
    for second in 0..50 {
        if let Some(index) = [10, 11, 12, 13].get(second / 3).filter(|_| second % 3 == 0) {
            bench.answers.insert((*index, RuleKind::Startup), OutcomeClass::Refused);
            bench.add_as(*index, |seen| seen.revision = Some(RevisionKey(1)));
        }
        let before = bench.restarts().len();
        bench.pass(1);
        if let Some((_, restarted)) = bench.restarts().get(before).copied() {
            bench.replace_container(restarted);
        }
    }
    assert_eq!(bench.restarts(), [(8, 10)]);
}

#[test]
fn a_revision_of_which_most_have_started_can_start() {
    let mut bench = fleet(guarded(), |_| {});
    for index in 10..12 {
        bench.answers.insert((index, RuleKind::Startup), OutcomeClass::Refused);
        bench.add_as(index, |seen| seen.revision = Some(RevisionKey(0)));
    }
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 12, first: 0 } });
    bench.pass(8);
    assert_eq!(bench.restarts(), [(8, 10), (8, 11)]);
}
