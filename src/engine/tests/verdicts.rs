//! What an engine takes over from the one before.

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
