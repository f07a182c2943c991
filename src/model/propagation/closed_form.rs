//! What the delays must come to. A check, or a read, comes up to a period after that which it finds, half a period on
//! the average, whatever the phase of the other.

use super::{Check, Delay, Delays, Move, Profile};
use crate::engine::Span;

/// The delays of a move.
pub fn delays(check: Check, profile: Profile, to: Move) -> Delays {
    let more = check.period() * u64::from(check.needed(to) - 1);
    let to_decision = after(more, check.period());
    let from_decision = profile.reads().map(|reads| after(reads.again(to), reads.every()));
    let whole = |from_decision: Delay| Delay {
        worst: to_decision.worst + from_decision.worst,
        mean: to_decision.mean + from_decision.mean,
    };
    Delays { to_decision, from_decision, to_traffic: from_decision.map(whole) }
}

/// How long a good replica gets no traffic after its profile was assigned or changed; `None` if that reaches no traffic.
pub fn preparing(check: Check, profile: Profile) -> Option<Delay> {
    delays(check, profile, Move::Admit).to_traffic
}

/// For how long two devices or more may differ after a fault, or its end; `None` if it never reaches the traffic.
pub fn disagreement(check: Check, profile: Profile) -> Option<Span> {
    Some(check.period() + profile.reads()?.every())
}

/// What is `fixed` and then waits for the next of something that comes every `period`.
fn after(fixed: Span, period: Span) -> Delay {
    Delay { worst: fixed + period, mean: fixed + Span::from_nanos(period.as_nanos() / 2) }
}
