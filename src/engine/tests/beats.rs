//! When a replica is in the pool that says by itself that it is there.

use super::*;

const TIME_TO_LIVE: Span = Span::from_secs(3);

/// Only the heartbeat rule, with nothing beside it.
fn beats_only() -> Policy {
    Policy { rules: PerRule::default(), ..beside_readiness() }
}

/// The heartbeat rule, and a readiness rule (1 s, 1).
fn beside_readiness() -> Policy {
    let rules = PerRule { startup: None, liveness: None, readiness: Some(rule(1, 1)) };
    Policy { rules, heartbeat: Some(Heartbeat { time_to_live: TIME_TO_LIVE }), ..policy() }
}

impl Bench {
    fn beat(&mut self, index: u32) {
        self.tell(Input::Beat { replica: key(index) });
    }

    /// Lets seconds pass in which these replicas beat.
    fn pass_with_beats(&mut self, seconds: u64, beating: std::ops::Range<u32>) {
        for _ in 0..seconds {
            beating.clone().for_each(|index| self.beat(index));
            self.pass(1);
        }
    }

    /// Why a replica's gate stands as it does.
    fn reason(&self, index: u32) -> Reason {
        let report = self.report();
        report.replica_reports.iter().find(|report| report.replica.index == index).unwrap().gate.unwrap().1
    }
}

/// A fleet of so many that has beaten once, two seconds ago.
fn beating(policy: Policy, replicas: u32) -> Bench {
    let mut bench = Bench::with(policy);
    (0..replicas).for_each(|index| bench.add(index));
    bench.settle();
    bench.pass_with_beats(1, 0..replicas);
    bench.pass(1);
    bench
}

#[test]
fn a_replica_leaves_the_pool_when_its_last_beat_is_as_old_as_the_time_to_live_and_is_back_with_the_next() {
    let mut bench = beating(beats_only(), 1);
    assert_eq!(bench.gate(0), OPEN);
    bench.pass(1);
    assert_eq!((bench.gate(0), bench.reason(0)), (CLOSED, Reason::NoBeat { time_to_live: TIME_TO_LIVE }));
    bench.pass(5);
    bench.beat(0);
    bench.settle();
    assert_eq!((bench.gate(0), bench.reason(0)), (OPEN, Reason::Beating));
    let told = [(0, TransitionKind::Started), (0, TransitionKind::Admitted), (3, TransitionKind::Ejected)];
    assert_eq!(bench.told(0), [&told[..], &[(8, TransitionKind::Admitted)]].concat());
}

#[test]
fn the_engine_asks_to_be_polled_when_silence_comes_to_something() {
    let bench = beating(beats_only(), 1);
    assert_eq!(bench.engine.next_deadline(), Some((Time::ZERO + TIME_TO_LIVE, "beat overdue")));
}

#[test]
fn one_that_deregisters_leaves_at_once_and_is_no_failure() {
    let mut bench = beating(
        Policy { fleet: FleetSettings { shared_failure: SharedFailure::Hold, breaker: None }, ..beats_only() },
        2,
    );
    for index in 0..2 {
        bench.tell(Input::Deregistered { replica: key(index) });
    }
    bench.settle();
    assert_eq!([0, 1].map(|index| (bench.gate(index), bench.reason(index))), [(CLOSED, Reason::Deregistered); 2]);
    let report = bench.report();
    assert_eq!((report.failing, report.heartbeat.unwrap().deregistered), (0, 2));
    bench.beat(0);
    bench.settle();
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn beside_a_readiness_rule_either_ejects_and_both_have_to_admit() {
    let mut bench = beating(beside_readiness(), 2);
    bench.answer(0, OutcomeClass::BadStatus { status: 503 });
    bench.pass_with_beats(1, 0..2);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [CLOSED, OPEN], "readiness fails, beats come");
    bench.answers.clear();
    bench.pass(4);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [CLOSED; 2], "readiness passes, no beats come");
    bench.beat(1);
    bench.settle();
    assert_eq!([0, 1].map(|index| bench.gate(index)), [CLOSED, OPEN]);
}

#[test]
fn where_nobody_has_ever_beaten_nobody_who_is_in_is_ejected_for_it() {
    let mut bench = beating(Policy { heartbeat: None, ..beside_readiness() }, 2);
    bench.set(beside_readiness());
    bench.pass(10);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [OPEN; 2]);
    assert_eq!(bench.reason(0), Reason::HeldWithoutBeat { by: Obstacle::NeverPassed });
}

#[test]
fn the_first_beat_of_all_gives_the_others_a_whole_time_to_live() {
    let mut bench = beating(Policy { heartbeat: None, ..beside_readiness() }, 2);
    bench.set(beside_readiness());
    bench.pass(10);
    bench.pass_with_beats(2, 1..2);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [OPEN; 2]);
    bench.pass_with_beats(1, 1..2);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [CLOSED, OPEN]);
}

#[test]
fn a_container_that_is_starting_is_expected_to_beat_only_once_it_has_started() {
    let mut bench = Bench::with(Policy { heartbeat: beside_readiness().heartbeat, ..policy() });
    bench.tell(Input::BeatBefore { policy: POLICY });
    bench.add(0);
    bench.answers.insert((0, RuleKind::Startup), OutcomeClass::BadStatus { status: 503 });
    bench.pass(4);
    assert_eq!((bench.reason(0), bench.report().failing), (Reason::Starting, 0));
    bench.answers.clear();
    bench.pass(2);
    assert_eq!((bench.gate(0), bench.reason(0), bench.report().failing), (CLOSED, Reason::NoBeatYet, 0));
    bench.pass(3);
    assert_eq!((bench.gate(0), bench.report().failing), (CLOSED, 1));
    bench.beat(0);
    bench.settle();
    assert_eq!((bench.gate(0), bench.report().failing), (OPEN, 0));
}

#[test]
fn a_new_container_has_to_beat_itself_and_one_that_does_not_run_cannot() {
    let mut bench = beating(beats_only(), 1);
    bench.each_container(0, |container| container.state = ContainerState::Down);
    bench.beat(0);
    bench.settle();
    assert_eq!(bench.reason(0), Reason::NotRunning);
    bench.replace_container(0);
    bench.settle();
    assert_eq!((bench.gate(0), bench.reason(0)), (CLOSED, Reason::NoBeatYet));
    bench.beat(0);
    bench.settle();
    assert_eq!(bench.gate(0), OPEN);
}

#[test]
fn a_new_engine_gives_everybody_who_is_in_a_whole_time_to_live() {
    let mut bench = Bench::new();
    bench.now = Time::ZERO + Span::from_secs(100);
    bench.set(beats_only());
    bench.tell(Input::BeatBefore { policy: POLICY });
    for index in 0..2 {
        bench.add_as(index, |seen| {
            seen.targets = PerRule::default();
            seen.gate = GateSeen::Set(if index == 0 { Gate::Open } else { Gate::Closed });
            if let Some(Target::Container(container)) = &mut seen.heartbeat {
                container.remembered = Some(Remembered { started: true });
            }
        });
    }
    bench.tell(Input::Synced);
    bench.pass(2);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [OPEN, CLOSED]);
    bench.pass(1);
    assert_eq!([0, 1].map(|index| bench.gate(index)), [CLOSED; 2]);
}

#[test]
fn while_beats_may_not_reach_us_nobody_is_missing_and_afterwards_each_has_a_whole_time_to_live() {
    let mut bench = beating(beats_only(), 1);
    bench.tell(Input::Deaf { until: bench.now + Span::from_secs(60) });
    bench.pass(30);
    assert_eq!(bench.gate(0), OPEN);
    bench.tell(Input::Deaf { until: bench.now });
    bench.pass(2);
    assert_eq!(bench.gate(0), OPEN);
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn a_pause_counts_against_nobody() {
    let mut bench = beating(beats_only(), 1);
    bench.set(Policy { mode: Mode::Paused, ..beats_only() });
    bench.pass(60);
    bench.set(beats_only());
    bench.pass(2);
    assert_eq!(bench.gate(0), OPEN);
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
}

#[test]
fn a_paused_replica_owes_no_beat_and_then_has_a_whole_time_to_live() {
    let mut bench = beating(beats_only(), 1);
    bench.show(0, |seen| seen.paused_until = Some(Time::ZERO + Span::from_secs(60)));
    bench.pass(60);
    assert_eq!(bench.gate(0), OPEN);
    bench.pass(1);
    assert_eq!(bench.gate(0), CLOSED);
}

/// A shared path of the beats, say: they stop within one second, but not in one instant.
#[test]
fn beats_that_most_replicas_lost_eject_nobody() {
    let fleet = FleetSettings { shared_failure: SharedFailure::Hold, breaker: None };
    let mut bench = Bench::with(Policy { fleet, ..beats_only() });
    (0..4).for_each(|index| bench.add(index));
    bench.settle();
    bench.pass_with_beats(1, 0..4);
    bench.beat(0);
    bench.beat(1);
    bench.pass(10);
    assert_eq!([0, 1, 2, 3].map(|index| bench.gate(index)), [OPEN; 4]);
    let by =
        Obstacle::SharedFailure { among: Among::Fleet, failing: 4, judged: 4, last: Some(OutcomeClass::NoResponse) };
    assert_eq!(bench.reason(0), Reason::HeldWithoutBeat { by });
    bench.pass_with_beats(2, 1..4);
    assert_eq!(bench.gate(0), OPEN, "the others are back, and it gets a time to live to follow");
    bench.pass_with_beats(2, 1..4);
    assert_eq!([0, 1, 2, 3].map(|index| bench.gate(index)), [CLOSED, OPEN, OPEN, OPEN]);
}

#[test]
fn the_floor_holds_those_who_do_not_beat_as_it_does_those_who_fail() {
    let floor =
        FloorSettings { min_ready: Amount::Count(2), when_below: WhenBelow::Hold, cooldown: Span::from_secs(1) };
    let mut bench = beating(Policy { floor: Some(floor), ..beats_only() }, 3);
    bench.pass_with_beats(5, 0..1);
    let open = (0..3).filter(|index| bench.gate(*index) == OPEN).count();
    assert_eq!(open, 2);
    bench.tell(Input::Deregistered { replica: key(0) });
    bench.settle();
    assert_eq!(bench.gate(0), CLOSED, "who goes by its own will is not held");
}

#[test]
fn beats_of_which_two_do_not_fit_into_the_time_to_live_are_told() {
    let mut bench = beating(beats_only(), 1);
    assert_eq!(bench.report().heartbeat.unwrap().rare, None);
    for _ in 0..3 {
        bench.beat(0);
        bench.pass(2);
    }
    assert_eq!(bench.report().heartbeat.unwrap().rare, Some((1, Span::from_secs(2))));
}
