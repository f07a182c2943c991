//! How quickly gates are written.

use super::*;

/// So many replicas, all of which pass, and at most so many writes a second.
fn limited(replicas: u32, per_second: u32) -> Bench {
    let mut bench = Bench::with(policy());
    bench.engine = std::mem::take(&mut bench.engine).with_write_limit(NonZeroU32::new(per_second).unwrap());
    (0..replicas).for_each(|replica| bench.add(replica));
    bench
}

/// When gates were written: when, whose, and how they stand since.
fn writes(bench: &Bench) -> Vec<(Time, u32, Gate)> {
    let written = |(at, effect): &(Time, Effect)| match effect {
        Effect::SetGate { replica, gate, .. } => Some((*at, replica.index, (*gate)?)),
        Effect::StartAttempt { .. }
        | Effect::AskDependency { .. }
        | Effect::RecordIntent { .. }
        | Effect::Restart { .. }
        | Effect::Record(_)
        | Effect::RecordFleet(_)
        | Effect::Published { .. }
        | Effect::Took { .. } => None,
    };
    bench.done.iter().filter_map(written).collect()
}

#[test]
fn writes_keep_to_the_limit_and_say_by_how_much_they_lag_and_none_is_lost() {
    let mut bench = limited(40, 4);
    bench.advance(Span::from_secs(5));
    let report = bench.report();
    assert!(report.unwritten > 10 && report.write_lag >= Span::from_secs(2), "{report:?}");
    bench.advance(Span::from_secs(30));
    let writes = writes(&bench);
    for second in 0..35 {
        let (from, to) = (Time::ZERO + Span::from_secs(second), Time::ZERO + Span::from_secs(second + 1));
        let within = writes.iter().filter(|(at, ..)| (from..to).contains(at)).count();
        assert!(within <= 8, "{within} writes in second {second}");
    }
    assert!((0..40).all(|replica| bench.gate(replica) == OPEN));
    let report = bench.report();
    assert_eq!((report.unwritten, report.write_lag), (0, Span::ZERO));
}

#[test]
fn an_ejection_goes_before_whatever_waits() {
    let mut bench = limited(1, 4);
    bench.advance(Span::from_secs(9));
    (1..40).for_each(|replica| bench.add(replica));
    bench.advance(Span::from_secs(3));
    let waiting = bench.report().unwritten;
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::NoResponse);
    bench.advance(Span::from_secs(2));
    let ejected = writes(&bench).into_iter().rfind(|(_, replica, gate)| (*replica, *gate) == (0, Gate::Closed));
    assert_eq!((ejected.unwrap().0, waiting > 10), (Time::ZERO + Span::from_secs(12), true));
}

#[test]
fn who_fails_while_its_admission_waits_is_not_let_in() {
    let mut bench = limited(20, 1);
    bench.advance(Span::from_secs(5));
    for replica in 0..20 {
        bench.answers.insert((replica, RuleKind::Readiness), OutcomeClass::NoResponse);
    }
    bench.advance(Span::from_secs(60));
    assert!((0..20).all(|replica| bench.gate(replica) == CLOSED));
    assert!(
        writes(&bench)
            .iter()
            .filter(|(at, _, gate)| *at > Time::ZERO + Span::from_secs(6) && *gate == Gate::Open)
            .count()
            == 0
    );
}

#[test]
fn nobody_waits_for_the_turn_of_a_gate_that_nothing_is_decided_about_any_more() {
    let mut bench = limited(20, 1);
    bench.pass(2);
    bench.show(19, |seen| seen.policy = None);
    bench.replace_container(19);
    bench.pass(25);
    let (at, why) = bench.engine.next_deadline().unwrap();
    assert!(at > bench.now, "still due after a poll: {why}");
}
