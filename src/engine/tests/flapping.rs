//! Replicas that come and go: failures that are not in a row, and gates that stay for a while where they were turned.

use super::*;

const FAILING: OutcomeClass = OutcomeClass::BadStatus { status: 503 };
const OFF: EjectionBackoff =
    EjectionBackoff { initial: Span::ZERO, max: Span::from_secs(300), decay_after: Span::from_secs(600) };

#[test]
fn whoever_fails_so_often_leaves_though_never_twice_in_a_row_and_stays_out_until_that_is_past() {
    let mut bench = Bench::with(windowed(RuleKind::Readiness));
    bench.add(0);
    bench.pass(3);
    assert_eq!(gates(&mut bench, RuleKind::Readiness, "F.F.F......"), "iiiioooiiii");
    let told = "the readiness rule failed 3 of its latest 7 attempts, last: status 503";
    assert_eq!(ejections(&bench), [told]);
}

#[test]
fn a_replica_that_answers_every_other_time_is_restarted() {
    let mut bench = Bench::with(windowed(RuleKind::Liveness));
    bench.add(0);
    bench.pass(3);
    gates(&mut bench, RuleKind::Liveness, "F.F.F");
    assert_eq!(bench.restarts(), [(8, 0)]);
}

#[test]
fn a_gate_stays_where_it_was_turned_for_so_long_either_way() {
    let dwell = DwellSettings { least: Span::from_secs(4), ejection: OFF };
    let mut bench = Bench::with(Policy { dwell: Some(dwell), ..policy() });
    bench.add(0);
    // Startup passes at 0, readiness at 1.
    bench.pass(2);
    assert_eq!(gates(&mut bench, RuleKind::Readiness, "FFF......FFFFF"), "iiooooiiiioooo");
}

#[test]
fn a_container_that_does_not_run_is_taken_out_however_short_it_was_in() {
    let dwell = DwellSettings { least: Span::from_secs(100), ejection: OFF };
    let mut bench = Bench::with(Policy { dwell: Some(dwell), ..policy() });
    bench.add(0);
    bench.pass(3);
    bench.each_container(0, |container| container.state = ContainerState::Down);
    bench.settle();
    assert_eq!(bench.gate(0), CLOSED);
    bench.replace_container(0);
    bench.pass(3);
    assert_eq!(bench.gate(0), OPEN, "nothing is held against the next container");
}

#[test]
fn an_ejection_lasts_the_longer_the_more_often_it_happens() {
    let ejection = EjectionBackoff { initial: Span::from_secs(2), max: Span::from_secs(300), ..OFF };
    let mut bench = Bench::with(Policy { dwell: Some(DwellSettings { least: Span::ZERO, ejection }), ..policy() });
    bench.add(0);
    bench.pass(3);
    assert_eq!(gates(&mut bench, RuleKind::Readiness, "F..F.....F......."), "ooiooooiioooooooo");
    let (_, reason) = bench.report().replica_reports[0].gate.unwrap();
    let told = "the readiness rule passes, but after an ejection it stays out of the pool for 8s";
    assert_eq!(reason.to_string(), told);
}

#[test]
fn before_a_pool_falls_below_its_floor_whoever_passes_is_let_in() {
    let ejection = EjectionBackoff { initial: Span::from_secs(100), max: Span::from_secs(300), ..OFF };
    let floor =
        FloorSettings { min_ready: Amount::Count(4), when_below: WhenBelow::Hold, cooldown: Span::from_secs(5) };
    let dwell = Some(DwellSettings { least: Span::ZERO, ejection });
    let mut bench = Bench::with(Policy { dwell, floor: Some(floor), ..policy() });
    (0..8).for_each(|index| bench.add(index));
    bench.pass(3);
    let fail = |bench: &mut Bench, indices: std::ops::Range<u32>| {
        bench.answers.clear();
        bench.answers.extend(indices.map(|index| ((index, RuleKind::Readiness), FAILING)));
        bench.pass(2);
        bench.seen.keys().copied().filter(|index| bench.gate(*index) == OPEN).collect::<Vec<_>>()
    };
    assert_eq!(fail(&mut bench, 0..4), [4, 5, 6, 7]);
    assert_eq!(fail(&mut bench, 0..0), [4, 5, 6, 7], "they pass, and stay out");
    assert_eq!(fail(&mut bench, 4..5), [0, 5, 6, 7], "one that passes takes the place of the one that fails");
    assert!(bench.fleet_told().is_empty(), "the pool was never below its floor");
}

/// The policy with a window of 3 failures in 7 attempts on one rule, which fails in a row only after 9.
fn windowed(kind: RuleKind) -> Policy {
    let mut policy = policy();
    let rule = policy.rules[kind].as_mut().unwrap();
    rule.failure_threshold = NonZeroU32::new(9).unwrap();
    rule.failure_window = Some(FailureWindow { failures: 3, attempts: 7 });
    policy
}

/// Lets a rule of replica 0 be answered so, second by second, `F` for a failure; gives where its gate then stands, `i` for
/// in and `o` for out.
fn gates(bench: &mut Bench, kind: RuleKind, answers: &str) -> String {
    let after = |answer| {
        let class = if answer == 'F' { FAILING } else { OutcomeClass::Passed };
        bench.answers.insert((0, kind), class);
        bench.pass(1);
        if bench.gate(0) == OPEN { 'i' } else { 'o' }
    };
    answers.chars().map(after).collect()
}

/// Why it was ejected, each time.
fn ejections(bench: &Bench) -> Vec<String> {
    let mut told = Vec::new();
    for (_, effect) in &bench.done {
        if let Effect::Record(transition) = effect
            && transition.kind == TransitionKind::Ejected
        {
            told.push(transition.reason.to_string());
        }
    }
    told
}
