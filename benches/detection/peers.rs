//! The schedules of others, as their documentation and measurements have them.

use probe_policy::engine::{Span, Time};

use super::{Fault, PERIOD, THRESHOLD};

/// A ticker: from start to start, whatever came of the last attempt.
pub fn kubelet(phase: Span, fault: Fault) -> Option<Time> {
    decide(phase, fault, |begun, _, _| begun + PERIOD)
}

/// From the end of an attempt to the start of the next; sooner after a failure.
pub fn haproxy(fast: Span, phase: Span, fault: Fault) -> Option<Time> {
    decide(phase, fault, |_, ended, fails| ended + if fails > 0 { fast } else { PERIOD })
}

/// One attempt after the other; `next` says when, from the start and the end of the last one and the failures in a row.
fn decide(phase: Span, fault: Fault, next: impl Fn(Time, Time, u32) -> Time) -> Option<Time> {
    let (mut begun, mut fails) = (Time::ZERO + phase, 0);
    loop {
        let answer = fault.answer(begun);
        fails = if answer.passes { 0 } else { fails + 1 };
        if fails == THRESHOLD {
            return Some(answer.at);
        }
        if fails == 0 && begun >= fault.until {
            return None;
        }
        begun = next(begun, answer.at, fails);
    }
}
