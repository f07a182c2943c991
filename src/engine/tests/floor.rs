//! How few ready replicas a pool may have, and what then.

use super::*;

const FLOOR: FloorSettings =
    FloorSettings { min_ready: Amount::Percent(50), when_below: WhenBelow::Hold, cooldown: Span::from_secs(10) };

/// Eight replicas that passed everything until second 3, under a floor of four and without other guards.
fn fleet(when_below: WhenBelow) -> Bench {
    let mut bench = Bench::with(Policy { floor: Some(FloorSettings { when_below, ..FLOOR }), ..policy() });
    for index in 0..8 {
        bench.add(index);
    }
    bench.pass(3);
    bench
}

fn unready(bench: &mut Bench, indices: std::ops::Range<u32>) {
    for index in indices {
        bench.answers.insert((index, RuleKind::Readiness), OutcomeClass::BadStatus { status: 503 });
    }
}

fn in_pool(bench: &Bench) -> Vec<u32> {
    bench.seen.keys().copied().filter(|index| bench.gate(*index) == OPEN).collect()
}

#[test]
fn down_to_the_floor_replicas_are_ejected_and_no_further() {
    let mut bench = fleet(WhenBelow::Hold);
    unready(&mut bench, 0..4);
    bench.pass(1);
    assert_eq!((in_pool(&bench), bench.fleet_told()), (vec![4, 5, 6, 7], vec![]));
    unready(&mut bench, 4..6);
    bench.pass(20);
    assert_eq!(in_pool(&bench), [4, 5, 6, 7]);
    assert_eq!(bench.fleet_told(), [(5, FleetTransitionKind::FellBelowFloor)]);
    let reason = bench.report().replica_reports[4].gate.unwrap().1;
    assert_eq!(
        reason.to_string(),
        "the readiness rule wants an ejection, but 2 replicas are ready, and the pool must have 4"
    );
}

#[test]
fn once_enough_have_been_ready_for_a_while_those_that_fail_are_ejected() {
    let mut bench = fleet(WhenBelow::Hold);
    unready(&mut bench, 0..6);
    bench.pass(1);
    assert_eq!(in_pool(&bench).len(), 8, "all that failed at once are held");
    bench.answers.retain(|(index, _), _| *index > 3);
    bench.pass(30);
    assert_eq!(in_pool(&bench), [0, 1, 2, 3, 6, 7]);
    let told = [(4, FleetTransitionKind::FellBelowFloor), (15, FleetTransitionKind::CameBackToFloor)];
    assert_eq!(bench.fleet_told(), told);
}

#[test]
fn opened_it_lets_in_whoever_has_started_and_nobody_else() {
    let mut bench = fleet(WhenBelow::Open);
    bench.answers.insert((7, RuleKind::Startup), OutcomeClass::Refused);
    bench.replace_container(7);
    bench.show(6, |seen| seen.lifecycle = Lifecycle::Terminating);
    unready(&mut bench, 0..2);
    bench.pass(2);
    assert_eq!(in_pool(&bench), [2, 3, 4, 5, 6]);
    unready(&mut bench, 2..4);
    bench.pass(1);
    assert_eq!(in_pool(&bench), [0, 1, 2, 3, 4, 5, 6]);
    bench.answers.retain(|(index, rule), _| *rule == RuleKind::Startup || *index == 0);
    bench.pass(20);
    assert_eq!(in_pool(&bench), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn closed_it_lets_nobody_in_until_enough_are_ready() {
    let mut bench = fleet(WhenBelow::Close);
    unready(&mut bench, 0..5);
    bench.pass(1);
    assert!(in_pool(&bench).is_empty());
    let reason = bench.report().replica_reports[7].gate.unwrap().1;
    assert_eq!(reason, Reason::BelowFloor { ready: 3, floor: 4 });
    bench.answers.clear();
    bench.pass(9);
    assert!(in_pool(&bench).is_empty());
    bench.pass(3);
    assert_eq!(in_pool(&bench).len(), 8);
}

#[test]
fn a_fleet_that_starts_is_not_below_its_floor() {
    let mut bench = Bench::with(Policy { floor: Some(FLOOR), ..policy() });
    for index in 0..8 {
        bench.add(index);
        bench.answers.insert((index, RuleKind::Startup), OutcomeClass::Refused);
    }
    bench.pass(3);
    assert_eq!((bench.fleet_told(), bench.report().floor), (vec![], FloorReport::Above));
}

#[test]
fn half_of_one_replica_is_none() {
    let mut bench = Bench::with(Policy { floor: Some(FLOOR), ..policy() });
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 1, first: 0 } });
    bench.add(0);
    bench.pass(3);
    unready(&mut bench, 0..1);
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn the_floor_follows_what_the_owner_wants() {
    let mut bench = fleet(WhenBelow::Hold);
    unready(&mut bench, 0..6);
    bench.pass(20);
    assert_eq!(in_pool(&bench).len(), 8);
    bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 4, first: 0 } });
    bench.pass(20);
    assert_eq!(in_pool(&bench), [6, 7]);
}

#[test]
fn an_edit_moves_the_floor_at_once() {
    let mut bench = fleet(WhenBelow::Hold);
    unready(&mut bench, 0..6);
    bench.pass(1);
    bench.set(Policy { floor: Some(FloorSettings { when_below: WhenBelow::Close, ..FLOOR }), ..policy() });
    bench.settle();
    assert!(in_pool(&bench).is_empty());
    bench.set(policy());
    bench.settle();
    assert_eq!(in_pool(&bench), [6, 7]);
    assert_eq!(bench.fleet_told().last().unwrap().1, FleetTransitionKind::CameBackToFloor);
}
