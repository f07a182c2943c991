//! How quickly gates are written: so many a second, a second's worth at once, half of it kept for ejections.

use std::num::NonZeroU32;

use super::{Span, Time};

/// What may be written at once after a pause, as the time that makes up for it.
const BURST: Span = Span::from_secs(1);
/// What others than ejections may use of that.
const BURST_OF_OTHERS: Span = Span::from_millis(500);

/// The limit to the writes of gates, and until when somebody waits for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    /// From one write to the next in the long run.
    interval: Span,
    /// When all that was written is made up for.
    even: Time,
    /// The last turn that was given to an ejection.
    last_ejection: Option<Time>,
    /// The last turn that was given to another write.
    last_other: Option<Time>,
}

/// How urgent a write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// It takes somebody out of the pool.
    Ejection,
    /// It can wait.
    Other,
}

/// When a write that waits has its turn, among those that are as urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) at: Time,
    urgency: Urgency,
}

impl Writes {
    /// Nothing was written yet.
    pub(super) fn at_most(per_second: NonZeroU32) -> Self {
        let interval = Span::from_nanos(Span::from_secs(1).as_nanos() / u64::from(per_second.get()));
        Self { interval, even: Time::ZERO, last_ejection: None, last_other: None }
    }

    /// Lets a write through, or says when its turn is; `turn` is what was said to it before. Whoever comes now goes
    /// behind those who are as urgent and wait.
    pub(super) fn take(&mut self, urgency: Urgency, turn: Option<Turn>, now: Time) -> Result<(), Turn> {
        let turn = turn.filter(|turn| turn.urgency == urgency);
        if let Some(turn) = turn.filter(|turn| turn.at > now) {
            return Err(turn);
        }
        let (burst, last) = match urgency {
            Urgency::Ejection => (BURST, &mut self.last_ejection),
            Urgency::Other => (BURST_OF_OTHERS, &mut self.last_other),
        };
        let is_next = turn.is_some() || last.is_none_or(|last| last < now);
        let free = self.even + self.interval - burst.max(self.interval);
        if is_next && free <= now {
            self.even = self.even.max(now) + self.interval;
            return Ok(());
        }
        let at = last.map_or(free, |last| free.max(last + self.interval));
        *last = Some(at);
        Err(Turn { at, urgency })
    }
}
