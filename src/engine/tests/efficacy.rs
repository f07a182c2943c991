//! Whether restarts help: after so many in a row that did not, there are no more.

use super::restarts::stuck;
use super::*;

/// One replica that answers nothing from second 3 on, in whatever container, under this limit and without a backoff.
fn hopeless(give_up_after: Option<u32>) -> Bench {
    let backoff = Backoff { initial: Span::ZERO, ..policy().restart.backoff };
    let give_up_after = give_up_after.and_then(NonZeroU32::new);
    let restart = RestartSettings { backoff, give_up_after, ..policy().restart };
    stuck(Policy { restart, ..policy() })
}

/// Lets time pass; whoever is restarted gets a new container.
fn pass(bench: &mut Bench, seconds: u64) {
    for _ in 0..seconds {
        let before = bench.restarts().len();
        bench.pass(1);
        if bench.restarts().len() > before {
            bench.replace_container(0);
        }
    }
}

#[test]
fn a_seat_that_no_restart_has_helped_is_let_be_and_kept_out_of_the_pool() {
    let mut bench = hopeless(Some(2));
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Passed);
    pass(&mut bench, 2_000);
    assert_eq!(bench.restarts().len(), 2);
    let report = bench.report();
    assert_eq!((report.gave_up, report.restarts_futile), (1, 2));
    let (gate, reason) = report.replica_reports[0].gate.unwrap();
    assert_eq!((gate, bench.gate(0)), (Gate::Closed, CLOSED));
    assert_eq!(reason.to_string(), "the startup rule wants a restart, but restarting has not helped 2 of 2 times");
    let refused = bench.told(0).into_iter().filter(|(_, kind)| *kind == TransitionKind::RestartRefused);
    assert_eq!(refused.count(), 1);
}

#[test]
fn a_started_replica_that_was_given_up_is_ejected_though_it_says_that_it_is_ready() {
    let mut bench = hopeless(Some(1));
    bench.answers.insert((0, RuleKind::Startup), OutcomeClass::Passed);
    pass(&mut bench, 5);
    assert_eq!(bench.restarts().len(), 1);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::Passed);
    pass(&mut bench, 20);
    let reason = bench.report().replica_reports[0].gate.unwrap().1;
    assert_eq!(reason, Reason::Held { rule: RuleKind::Liveness, by: Obstacle::GaveUp { times: 1 } });
    assert_eq!((bench.gate(0), bench.restarts().len()), (CLOSED, 1));
}

#[test]
fn one_that_recovers_by_itself_is_admitted_and_may_be_restarted_again() {
    let mut bench = hopeless(Some(2));
    pass(&mut bench, 60);
    assert_eq!(bench.report().gave_up, 1);
    bench.answers.clear();
    pass(&mut bench, 2);
    assert_eq!((bench.gate(0), bench.report().gave_up), (OPEN, 0));
    bench.answer(0, OutcomeClass::NoResponse);
    pass(&mut bench, 60);
    assert_eq!(bench.restarts().len(), 4);
}

#[test]
fn a_restart_that_helped_begins_the_count_anew() {
    let mut bench = hopeless(Some(2));
    for _ in 0..5 {
        pass(&mut bench, 4);
        bench.answers.clear();
        pass(&mut bench, 5);
        bench.answer(0, OutcomeClass::NoResponse);
    }
    assert_eq!((bench.restarts().len(), bench.report().gave_up), (5, 0));
}

#[test]
fn without_a_limit_it_is_restarted_for_ever() {
    let mut bench = hopeless(None);
    pass(&mut bench, 200);
    assert!(bench.restarts().len() > 20);
}

#[test]
fn an_edit_that_raises_the_limit_restarts_it_again() {
    let mut bench = hopeless(Some(1));
    pass(&mut bench, 60);
    assert_eq!(bench.restarts().len(), 1);
    bench.set(Policy { restart: RestartSettings { give_up_after: None, ..policy().restart }, ..policy() });
    pass(&mut bench, 60);
    assert!(bench.restarts().len() > 1);
}

#[test]
fn the_next_engine_does_not_begin_the_count_anew() {
    let mut bench = hopeless(Some(2));
    pass(&mut bench, 60);
    let SeatReport { seat, memory, .. } = bench.report().seats[0];
    let mut next = Bench::with(bench.engine.fleets.get(POLICY).unwrap().spec.as_deref().unwrap().clone());
    next.tell(Input::SeatRestored { policy: POLICY, seat, memory });
    next.add(0);
    next.answer(0, OutcomeClass::NoResponse);
    pass(&mut next, 60);
    assert_eq!((next.restarts().len(), next.report().gave_up), (0, 1));
}
