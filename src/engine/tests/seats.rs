//! What outlives a replica.

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
fn a_seat_is_nobody_elses_though_its_number_was_given_by_a_policy_that_is_gone() {
    let restart = RestartSettings { max_concurrent: Amount::Percent(100), ..policy().restart };
    let mut bench = Bench::with(Policy { restart, ..policy() });
    add_unnumbered(&mut bench, 0);
    bench.pass(3);
    bench.answer(0, OutcomeClass::NoResponse);
    bench.restart_result = EffectResult::Refused(Refusal::Failed);
    bench.pass(4);
    bench.tell(Input::PolicyRemoved { policy: POLICY });
    let other = PolicyKey(1);
    bench.tell(Input::PolicySet { policy: other, spec: Box::new(Policy { restart, ..policy() }) });
    bench.show(0, |seen| seen.policy = Some(other));
    add_unnumbered(&mut bench, 1);
    bench.show(1, |seen| seen.policy = Some(other));
    bench.answers.insert((1, RuleKind::Startup), OutcomeClass::Passed);
    bench.pass(3);
    bench.answer(1, OutcomeClass::NoResponse);
    bench.pass(5);
    let report = bench.engine.report(other, bench.now).unwrap();
    let seats: Vec<_> = report.replica_reports.iter().filter_map(|replica| replica.seat).collect();
    assert_eq!(seats.len(), 2);
    assert_ne!(seats[0], seats[1]);
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
    bench.tell(Input::SeatRestored { policy: POLICY, seat: SeatKey { owner: OWNER, slot: Slot::Ordinal(0) }, memory });
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
