//! What of a fleet serves, what restarts cost it, and what would stop that.

use super::*;

/// Asks liveness every second; there is no startup rule. Nothing but the seat's loop holds restarts back.
fn without_startup() -> Policy {
    let backoff = Backoff { initial: Span::ZERO, ..policy().restart.backoff };
    let restart =
        RestartSettings { max_concurrent: Amount::Percent(100), backoff, give_up_after: None, ..policy().restart };
    Policy { rules: PerRule { startup: None, liveness: Some(rule(5, 3)), readiness: None }, restart, ..policy() }
}

/// Lets so many seconds pass; a replica that is restarted comes back at once, and takes so long to start.
fn pass(bench: &mut Bench, seconds: u64, startup: u64) {
    for _ in 0..seconds {
        let restarts = bench.restarts().len();
        bench.pass(1);
        for (_, index) in bench.restarts().split_off(restarts) {
            bench.replace_container(index);
        }
        for (index, seen) in bench.seen.clone() {
            let Some(Target::Container(container)) = seen.targets.liveness else { continue };
            let ContainerState::Running { since } = container.state else { continue };
            let starts = bench.now.since(since) < Span::from_secs(startup);
            bench.answer(index, if starts { OutcomeClass::BadStatus { status: 503 } } else { OutcomeClass::Passed });
        }
        bench.settle();
    }
}

#[test]
fn a_loop_of_replicas_that_are_still_starting_names_the_rule_and_what_a_startup_rule_must_leave() {
    let mut bench = Bench::with(without_startup());
    (0..8).for_each(|index| bench.add(index));
    bench.pass(30);
    for index in 0..2 {
        bench.replace_container(index);
        bench.answer(index, OutcomeClass::BadStatus { status: 503 });
    }
    pass(&mut bench, 60, 25);
    let capacity = bench.report().capacity;
    assert_eq!((capacity.desired, capacity.in_loop, capacity.never_started), (8, 2, 2));
    let told = "liveness restarts replicas that are still starting (2 of 8 in a loop): add a startup rule with more than \
                the 15s (period x failureThreshold) that liveness leaves them";
    assert_eq!(capacity.loss.unwrap().to_string(), told);
}

#[test]
fn what_was_learned_of_slow_starts_says_how_long_a_rule_must_leave_them() {
    let cause = |rule, leaves, took: u64, period: u64| Cause::CutShort {
        rule,
        leaves: Span::from_secs(leaves),
        needs: Some((Span::from_secs(took + period), Span::from_secs(took))),
    };
    for (cause, told) in [
        (
            cause(RuleKind::Liveness, 15, 25, 1),
            "liveness restarts replicas that are still starting (2 of 8 in a loop): add a startup rule with at least \
             26s (period x failureThreshold), they took 25s when they did start",
        ),
        (
            cause(RuleKind::Startup, 15, 25, 5),
            "startup restarts replicas that are still starting (2 of 8 in a loop): give startup at least 30s \
             (period x failureThreshold) instead of 15s, they took 25s when they did start",
        ),
        (
            Cause::Again { rule: RuleKind::Liveness, give_up_after: None },
            "liveness restarts replicas that had started, again and again (2 of 8 in a loop): leave out of liveness what \
             a restart cannot heal, or let restart.giveUpAfter stop it",
        ),
    ] {
        let loss = Loss { desired: 8, in_loop: 2, never_started: 2, cause };
        assert_eq!(loss.to_string(), told);
    }
}

#[test]
fn the_time_to_the_first_pass_is_learned_from_containers_that_were_asked_from_their_start_on() {
    let mut bench = Bench::with(policy());
    bench.now = Time::ZERO + Span::from_secs(1_000);
    let since = Time::ZERO;
    bench.add_as(0, |seen| {
        for kind in RuleKind::ALL {
            let container =
                Container { incarnation: Incarnation(1), state: ContainerState::Running { since }, remembered: None };
            seen.targets[kind] = Some(Target::Container(container));
        }
    });
    bench.pass(3);
    assert_eq!(bench.report().startups, [], "it has run for long, and perhaps long been started");
    bench.add_as(1, |seen| seen.revision = Some(RevisionKey(7)));
    bench.answer(1, OutcomeClass::BadStatus { status: 503 });
    bench.pass(4);
    bench.answer(1, OutcomeClass::Passed);
    bench.pass(1);
    let startups = bench.report().startups;
    let [(Some(RevisionKey(7)), times)] = &startups[..] else { panic!("{startups:?}") };
    assert_eq!((times.starts(), times.longest), (1, Span::from_secs(5)));
}

#[test]
fn a_replica_that_has_started_before_is_no_start_cut_short() {
    let mut bench = Bench::with(without_startup());
    (0..2).for_each(|index| bench.add(index));
    bench.pass(3);
    for _ in 0..4 {
        bench.replace_container(0);
        bench.pass(12);
    }
    let capacity = bench.report().capacity;
    assert_eq!((capacity.in_loop, capacity.never_started), (1, 0));
    assert_eq!(capacity.loss.map(|loss| loss.cause), Some(Cause::Others));
}

#[test]
fn only_who_is_ready_has_started_and_does_not_fail_serves() {
    let mut bench = Bench::with(policy());
    (0..4).for_each(|index| bench.add(index));
    bench.answer(3, OutcomeClass::BadStatus { status: 503 });
    bench.pass(3);
    assert_eq!(bench.report().capacity.serving, 3);
    bench.answers.insert((0, RuleKind::Readiness), OutcomeClass::BadStatus { status: 503 });
    bench.pass(1);
    assert_eq!(bench.report().capacity, Capacity { desired: 8, serving: 2, ..Capacity::default() });
}
