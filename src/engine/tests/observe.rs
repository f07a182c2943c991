//! What an observed policy would do, and that it does not.

use proptest::prelude::*;

use super::*;

/// Replicas of an observed policy, warm.
fn observed(change: impl FnOnce(&mut Policy), replicas: u32) -> Bench {
    let mut observed = Policy { mode: Mode::Observe, ..policy() };
    change(&mut observed);
    let mut bench = Bench::with(observed);
    (0..replicas).for_each(|replica| bench.add(replica));
    bench.pass(3);
    bench
}

fn would_have(bench: &Bench) -> WouldHave {
    bench.report().would_have.unwrap()
}

/// When somebody would have been restarted.
fn would_have_restarted(bench: &Bench, replica: u32) -> Vec<u64> {
    let told = bench.told(replica).into_iter();
    told.filter(|(_, kind)| *kind == TransitionKind::WouldHaveRestarted).map(|(at, _)| at).collect()
}

#[test]
fn a_failure_counts_for_one_restart_however_long_it_lasts() {
    let mut bench = observed(|_| {}, 1);
    bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::NoResponse);
    bench.pass(2_000);
    bench.answers.clear();
    bench.pass(1);
    bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::NoResponse);
    bench.pass(60);
    assert_eq!(would_have_restarted(&bench, 0), [6, 2007]);
    assert_eq!((would_have(&bench).restarted, bench.restarts(), bench.gate(0)), (2, vec![], OPEN));
}

#[test]
fn a_restart_that_is_not_carried_out_holds_those_that_would_wait_for_it() {
    let mut bench = observed(|_| {}, 3);
    for replica in 0..3 {
        bench.answers.insert((replica, RuleKind::Liveness), OutcomeClass::NoResponse);
    }
    bench.pass(20);
    assert_eq!(would_have(&bench).restarted, 1);
    bench.answers.remove(&(0, RuleKind::Liveness));
    bench.pass(2);
    assert_eq!([0, 1, 2].map(|replica| would_have_restarted(&bench, replica).len()), [1, 1, 0]);
    bench.pass(600);
    assert_eq!([0, 1, 2].map(|replica| would_have_restarted(&bench, replica).len()), [1, 1, 1], "the deadline is over");
}

#[test]
fn after_a_restart_that_is_not_carried_out_the_seat_waits_as_after_one_that_is() {
    let mut bench = observed(|_| {}, 1);
    for _ in 0..2 {
        bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::NoResponse);
        bench.pass(3);
        bench.answers.clear();
        bench.pass(1);
    }
    bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::NoResponse);
    bench.pass(30);
    assert_eq!(would_have_restarted(&bench, 0), [6, 16]);
    assert_eq!(bench.report().seats, [], "no seat remembers what was not done");
}

#[test]
fn restarts_that_are_not_carried_out_are_spent_of_the_budget() {
    let budget = BudgetSettings { restarts: NonZeroU32::MIN, per: Span::from_secs(100) };
    let restart = RestartSettings { budget: Some(budget), max_concurrent: Amount::Count(3), ..policy().restart };
    let mut bench = observed(|spec| spec.restart = restart, 3);
    for replica in 0..2 {
        bench.answers.insert((replica, RuleKind::Liveness), OutcomeClass::NoResponse);
    }
    bench.pass(150);
    assert_eq!([0, 1].map(|replica| would_have_restarted(&bench, replica)), [vec![6], vec![106]]);
    assert_eq!(bench.report().budget.unwrap().left, 1, "nothing was spent");
}

#[test]
fn a_restart_in_startup_is_told_from_others() {
    let mut bench = observed(|_| {}, 0);
    bench.add(0);
    bench.answer(0, OutcomeClass::Refused);
    bench.pass(60);
    assert_eq!(would_have(&bench), WouldHave { restarted: 1, in_startup: 1, ..WouldHave::default() });
}

#[test]
fn what_the_fleet_rules_would_hold_is_counted_once_for_each_failure() {
    let cooldown = Span::from_secs(10);
    let breaker = BreakerSettings { open_at: Amount::Percent(50), min_judged: 2, cooldown, trial: None };
    let hold = FleetSettings { breaker: Some(breaker), shared_failure: SharedFailure::Hold };
    let floor = FloorSettings { min_ready: Amount::Count(2), when_below: WhenBelow::Hold, cooldown };
    let ignore = FleetSettings { breaker: None, shared_failure: SharedFailure::Ignore };
    for (fleet, floor, expected) in [
        (hold, None, WouldHave { held_by_breaker: 4, held_by_shared_failure: 4, ..WouldHave::default() }),
        (
            ignore,
            Some(floor),
            WouldHave { held_by_floor: 4, restarted: 1, in_shared_failure: 1, ..WouldHave::default() },
        ),
        (ignore, None, WouldHave { ejected: 4, restarted: 1, in_shared_failure: 5, ..WouldHave::default() }),
    ] {
        let mut bench = observed(|policy| (policy.fleet, policy.floor) = (fleet, floor), 4);
        (0..4).for_each(|replica| bench.answer(replica, OutcomeClass::NoResponse));
        bench.pass(60);
        assert_eq!(would_have(&bench), WouldHave { admitted: 4, ..expected });
        assert!((0..4).all(|replica| bench.gate(replica) == OPEN));
    }
}

#[test]
fn a_failure_that_an_earlier_engine_has_seen_is_not_counted_again() {
    let mut bench = observed(|_| {}, 0);
    let remembered = Some(Remembered { started: true });
    bench.add_as(0, |seen| {
        seen.gate = OPEN;
        for target in [&mut seen.targets.startup, &mut seen.targets.liveness, &mut seen.targets.readiness] {
            if let Some(Target::Container(container)) = target {
                container.remembered = remembered;
            }
        }
    });
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(30);
    assert_eq!(would_have(&bench), WouldHave::default());
    bench.answers.clear();
    bench.pass(2);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.pass(30);
    assert_eq!(would_have(&bench), WouldHave { restarted: 1, ejected: 1, admitted: 1, ..WouldHave::default() });
}

#[test]
fn what_is_counted_is_counted_for_one_generation_of_an_observed_policy() {
    let mut bench = observed(|_| {}, 1);
    let edited = |generation, mode| Policy { generation, mode, ..policy() };
    assert_eq!(would_have(&bench).admitted, 1);
    bench.set(edited(1, Mode::Observe));
    bench.pass(1);
    assert_eq!(would_have(&bench).admitted, 1);
    bench.set(edited(2, Mode::Observe));
    bench.pass(1);
    assert_eq!(would_have(&bench), WouldHave::default());
    bench.set(edited(3, Mode::Enforce));
    bench.pass(1);
    assert_eq!(bench.report().would_have, None);
}

#[test]
fn an_edit_to_observe_voids_a_restart_that_waits_though_its_rule_goes_on_to_fail() {
    let mut bench = Bench::with(policy());
    bench.add(0);
    bench.pass(3);
    bench.intent_result = EffectResult::Refused(Refusal::Failed);
    bench.answers.insert((0, RuleKind::Liveness), OutcomeClass::NoResponse);
    bench.pass(3);
    bench.intent_result = EffectResult::Applied;
    bench.set(Policy { mode: Mode::Observe, ..policy() });
    bench.pass(60);
    assert_eq!((bench.restarts(), would_have(&bench).restarted), (vec![], 1));
}

#[derive(Clone, Debug)]
enum Event {
    Answer(u32, RuleKind, OutcomeClass),
    Stop(u32),
    Replace(u32),
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn what_enforcing_does_to_a_pool_is_what_observing_foresees(
        spec in spec_without_restarts(),
        replicas in 1u32..6,
        course in prop::collection::vec((event(), 1u64..8), 1..25),
    ) {
        let mut benches = [Mode::Enforce, Mode::Observe].map(|mode| {
            let mut bench = Bench::with(Policy { mode, ..spec.clone() });
            (0..replicas).for_each(|replica| bench.add(replica));
            bench
        });
        for (event, seconds) in course {
            for bench in &mut benches {
                match event {
                    Event::Answer(replica, rule, class) => drop(bench.answers.insert((replica % replicas, rule), class)),
                    Event::Stop(replica) => {
                        bench.each_container(replica % replicas, |container| container.state = ContainerState::Down);
                    }
                    Event::Replace(replica) => bench.replace_container(replica % replicas),
                }
                bench.pass(seconds);
            }
        }
        let [enforced, observed] = benches;
        for replica in 0..replicas {
            let flips = |bench: &Bench, ejected, admitted| {
                let told = bench.told(replica).into_iter();
                told.filter(|(_, kind)| [ejected, admitted].contains(kind))
                    .map(|(at, kind)| (at, kind == ejected))
                    .collect::<Vec<_>>()
            };
            prop_assert_eq!(
                flips(&enforced, TransitionKind::Ejected, TransitionKind::Admitted),
                flips(&observed, TransitionKind::WouldHaveEjected, TransitionKind::WouldHaveAdmitted)
            );
        }
        let told = would_have(&observed);
        prop_assert_eq!((observed.restarts(), told.restarted), (vec![], 0));
    }
}

fn event() -> impl Strategy<Value = Event> {
    let rule = prop::sample::select(vec![RuleKind::Startup, RuleKind::Readiness, RuleKind::Readiness]);
    let class = prop::sample::select(vec![OutcomeClass::Passed, OutcomeClass::NoResponse]);
    prop_oneof![
        8 => (0u32..6, rule, class).prop_map(|(replica, rule, class)| Event::Answer(replica, rule, class)),
        1 => (0u32..6).prop_map(Event::Stop),
        1 => (0u32..6).prop_map(Event::Replace),
    ]
}

/// No liveness rule, and a startup rule with all the patience in the world.
fn spec_without_restarts() -> impl Strategy<Value = Policy> {
    let readiness = (1u64..4, 1u32..4, 1u32..4).prop_map(|(period, failures, successes)| Rule {
        success_threshold: NonZeroU32::new(successes).unwrap(),
        ..rule(period, failures)
    });
    let when_below = prop::sample::select(vec![WhenBelow::Hold, WhenBelow::Open, WhenBelow::Close]);
    let floor = (1u32..6, when_below, 1u64..9).prop_map(|(least, when_below, cooldown)| FloorSettings {
        min_ready: Amount::Count(least),
        when_below,
        cooldown: Span::from_secs(cooldown),
    });
    let shared = prop::sample::select(vec![SharedFailure::Hold, SharedFailure::Ignore]);
    (any::<bool>(), readiness, prop::option::of(floor), shared).prop_map(
        |(starts, readiness, floor, shared_failure)| {
            let startup = starts.then(|| rule(1, 10_000));
            let rules = PerRule { startup, liveness: None, readiness: Some(readiness) };
            Policy { rules, floor, fleet: FleetSettings { breaker: None, shared_failure }, ..policy() }
        },
    )
}
