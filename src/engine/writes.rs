//! How quickly gates are written: so many a second, a second's worth at once, half of it kept for ejections; and only so
//! many at a time, since more would wait for the API server all the same, each on a connection of its own.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::{Span, Time};

/// What may be written at once after a pause, as the time that makes up for it.
const BURST: Span = Span::from_secs(1);
/// What others than ejections may use of that.
const BURST_OF_OTHERS: Span = Span::from_millis(500);

/// Writes that may be under way at once.
const AT_ONCE: usize = 128;
/// How many of them others than ejections may be.
const OTHERS_AT_ONCE: usize = 64;
/// Without an answer for so long, a write is not under way any more.
const UNDER_WAY_FOR: Span = Span::from_secs(30);

/// The limit to the writes of gates, and until when somebody waits for it.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    /// From one write to the next in the long run.
    interval: Span,
    /// When all that was written is made up for.
    even: Time,
    /// When the writes began that are under way.
    under_way: VecDeque<Time>,
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
        Self { interval, even: Time::ZERO, under_way: VecDeque::new(), last_ejection: None, last_other: None }
    }

    /// Lets a write through, or says when its turn is; `turn` is what was said to it before. Whoever comes now goes
    /// behind those who are as urgent and wait.
    pub(super) fn take(&mut self, urgency: Urgency, turn: Option<Turn>, now: Time) -> Result<(), Turn> {
        let turn = turn.filter(|turn| turn.urgency == urgency);
        if let Some(turn) = turn.filter(|turn| turn.at > now) {
            return Err(turn);
        }
        while self.under_way.front().is_some_and(|began| *began + UNDER_WAY_FOR <= now) {
            self.under_way.pop_front();
        }
        let (burst, at_once, last) = match urgency {
            Urgency::Ejection => (BURST, AT_ONCE, &mut self.last_ejection),
            Urgency::Other => (BURST_OF_OTHERS, OTHERS_AT_ONCE, &mut self.last_other),
        };
        let is_next = turn.is_some() || last.is_none_or(|last| last < now);
        let mut free = self.even + self.interval - burst.max(self.interval);
        if self.under_way.len() >= at_once {
            free = free.max(now + self.interval);
        }
        if is_next && free <= now {
            self.even = self.even.max(now) + self.interval;
            self.under_way.push_back(now);
            return Ok(());
        }
        let at = last.map_or(free, |last| free.max(last + self.interval));
        *last = Some(at);
        Err(Turn { at, urgency })
    }

    /// A write was answered, it does not matter which.
    pub(super) fn answered(&mut self) {
        self.under_way.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_under_way_and_there_is_room_for_ejections() {
        let mut writes = Writes::at_most(NonZeroU32::new(10_000).unwrap());
        let now = Time::ZERO + Span::from_secs(1);
        for _ in 0..OTHERS_AT_ONCE {
            assert_eq!(writes.take(Urgency::Other, None, now), Ok(()));
        }
        let turn = writes.take(Urgency::Other, None, now).unwrap_err();
        assert!(turn.at > now);
        for _ in OTHERS_AT_ONCE..AT_ONCE {
            assert_eq!(writes.take(Urgency::Ejection, None, now), Ok(()));
        }
        assert!(writes.take(Urgency::Ejection, None, now).is_err());

        let again = writes.take(Urgency::Other, Some(turn), turn.at).unwrap_err();
        (OTHERS_AT_ONCE..=AT_ONCE).for_each(|_| writes.answered());
        assert_eq!(writes.take(Urgency::Other, Some(again), again.at), Ok(()));
    }

    #[test]
    fn a_write_that_is_never_answered_does_not_keep_its_place() {
        let mut writes = Writes::at_most(NonZeroU32::new(10_000).unwrap());
        let now = Time::ZERO + Span::from_secs(1);
        (0..OTHERS_AT_ONCE).for_each(|_| writes.take(Urgency::Other, None, now).unwrap());
        let turn = writes.take(Urgency::Other, None, now).unwrap_err();
        assert_eq!(writes.take(Urgency::Other, Some(turn), now + UNDER_WAY_FOR), Ok(()));
    }
}
