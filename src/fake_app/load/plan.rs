//! When which request is due.

use std::num::NonZeroU32;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

use crate::engine::Span;
use crate::fake_app::clock;
use crate::scenario::{PerKind, RequestKind, Speed};

/// The least from one look at what the replicas really are to the next.
const BETWEEN_LOOKS: Span = Span::from_millis(20);

/// How many requests to send when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// When the first turn begins; `None` for as soon as everything is ready.
    pub start: Option<Timestamp>,
    /// The length of a turn at speed 1; not zero.
    pub turn: Span,
    /// How many turns.
    pub turns: u32,
    /// Which requests.
    pub requests: Requests,
    /// Divides the length of a turn and the time between two requests.
    pub speed: Speed,
}

/// Which requests there are, evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Plain ones, so many a second at speed 1, whatever the turns.
    Rate(NonZeroU32),
    /// So many of each kind a turn, in the order of the kinds.
    PerTurn {
        /// How many of each.
        kinds: PerKind<u32>,
        /// The first turn with requests, from 0.
        from: u32,
    },
}

/// A plan whose beginning is fixed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timetable {
    plan: Plan,
    start: Timestamp,
    /// The same instant on the clock that nobody sets.
    origin: Instant,
}

/// A request that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// Its turn.
    pub turn: u32,
    /// Its number in the turn.
    pub n: u32,
    /// Its kind.
    pub kind: RequestKind,
    /// When it is due.
    pub at: Instant,
}

impl Plan {
    /// Fixes the beginning.
    pub(super) fn timetable(self) -> Timetable {
        let (wall, now) = (clock::now(), Instant::now());
        let start = self.start.unwrap_or(wall);
        let ahead = start.duration_since(wall);
        let origin = if ahead.is_negative() {
            now.checked_sub(ahead.unsigned_abs())
        } else {
            now.checked_add(ahead.unsigned_abs())
        };
        Timetable { plan: self, start, origin: origin.unwrap_or(now) }
    }
}

impl Timetable {
    /// When the first turn begins.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Every request, in the order in which they are due.
    pub fn requests(&self) -> Box<dyn Iterator<Item = Due> + Send> {
        let table = *self;
        match self.plan.requests {
            Requests::Rate(rate) => Box::new(table.at_rate(rate)),
            Requests::PerTurn { kinds, from } => {
                Box::new((from..self.plan.turns).flat_map(move |turn| table.in_turn(turn, kinds)))
            }
        }
    }

    fn at_rate(self, rate: NonZeroU32) -> impl Iterator<Item = Due> + Send {
        let (mut turn, mut n) = (0, 0);
        (0u64..).map_while(move |i| {
            let nominal = Span::from_nanos(i.saturating_mul(1_000_000_000) / u64::from(rate.get()));
            let due_in = nominal.as_nanos() / self.plan.turn.as_nanos();
            let due_in = u32::try_from(due_in).ok().filter(|turn| *turn < self.plan.turns)?;
            if due_in != turn {
                (turn, n) = (due_in, 0);
            }
            n += 1;
            Some(Due { turn, n: n - 1, kind: RequestKind::Plain, at: self.instant(nominal) })
        })
    }

    fn in_turn(self, turn: u32, kinds: PerKind<u32>) -> impl Iterator<Item = Due> + Send {
        let of_kinds = RequestKind::ALL.into_iter().flat_map(move |kind| (0..kinds[kind]).map(move |_| kind));
        let count: u64 = RequestKind::ALL.into_iter().map(|kind| u64::from(kinds[kind])).sum();
        let begin = self.plan.turn * u64::from(turn);
        (0u32..).zip(of_kinds).map(move |(n, kind)| {
            let into = u128::from(self.plan.turn.as_nanos()) * u128::from(n) / u128::from(count);
            let into = Span::from_nanos(u64::try_from(into).unwrap_or(u64::MAX));
            Due { turn, n, kind, at: self.instant(begin + into) }
        })
    }

    /// The middles of the turns, of every turn if turns are not too short for that.
    pub fn middles(&self) -> impl Iterator<Item = (u32, Instant)> + use<> {
        let table = *self;
        let turn = table.plan.turn;
        let half = Span::from_nanos(turn.as_nanos() / 2);
        let lasts = table.plan.speed.shorten(turn).as_nanos().max(1);
        let every = usize::try_from(BETWEEN_LOOKS.as_nanos().div_ceil(lasts)).unwrap_or(usize::MAX);
        (0..table.plan.turns).step_by(every).map(move |number| (number, table.instant(turn * u64::from(number) + half)))
    }

    /// An instant in milliseconds since the first turn began.
    pub fn ms_of(&self, instant: Instant) -> f64 {
        ms(instant.saturating_duration_since(self.origin))
    }

    fn instant(&self, nominal: Span) -> Instant {
        self.origin + self.plan.speed.shorten(nominal).into()
    }
}

/// Milliseconds, to the microsecond.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timetable(turn_ms: u64, turns: u32, rate: u32, speed: &str) -> Timetable {
        let turn = Span::from_millis(turn_ms);
        let requests = Requests::Rate(rate.try_into().unwrap());
        Plan { start: None, turn, turns, requests, speed: speed.parse().unwrap() }.timetable()
    }

    fn in_each_turn(table: Timetable) -> Vec<usize> {
        let due: Vec<_> = table.requests().collect();
        (0..table.plan.turns).map(|turn| due.iter().filter(|due| due.turn == turn).count()).collect()
    }

    #[test]
    fn every_turn_has_its_requests_at_any_speed() {
        assert_eq!(in_each_turn(timetable(1_000, 3, 50, "1")), [50, 50, 50]);
        assert_eq!(in_each_turn(timetable(1_000, 3, 50, "7")), [50, 50, 50]);
        assert_eq!(in_each_turn(timetable(500, 4, 3, "1")), [2, 1, 2, 1]);
    }

    #[test]
    fn requests_are_numbered_in_their_turn_and_evenly_spaced() {
        let table = timetable(1_000, 2, 4, "2");
        let due: Vec<_> = table.requests().map(|due| (due.turn, due.n, table.ms_of(due.at))).collect();
        assert_eq!(due[3..6], [(0, 3, 375.0), (1, 0, 500.0), (1, 1, 625.0)]);
    }

    #[test]
    fn a_turn_has_its_kinds_in_their_order_from_the_first_turn_with_requests_on() {
        let kinds = PerKind { plain: 0, read: 2, write: 1, batch: 1 };
        let requests = Requests::PerTurn { kinds, from: 1 };
        let table = Plan { requests, ..timetable(2_000, 3, 1, "2").plan }.timetable();
        let due: Vec<_> = table.requests().map(|due| (due.turn, due.kind, table.ms_of(due.at))).collect();
        let [_, read, write, batch] = RequestKind::ALL;
        assert_eq!(
            due[..5],
            [(1, read, 1_000.0), (1, read, 1_250.0), (1, write, 1_500.0), (1, batch, 1_750.0), (2, read, 2_000.0)]
        );
        assert_eq!(due.len(), 8);
        let none = Requests::PerTurn { kinds: PerKind::default(), from: 0 };
        assert_eq!(Plan { requests: none, ..table.plan }.timetable().requests().count(), 0);
    }

    #[test]
    fn a_turn_is_looked_at_in_its_middle() {
        let table = timetable(1_000, 2, 4, "2");
        let middles: Vec<_> = table.middles().map(|(turn, at)| (turn, table.ms_of(at))).collect();
        assert_eq!(middles, [(0, 250.0), (1, 750.0)]);
    }

    #[test]
    fn of_turns_that_are_too_short_only_some_are_looked_at() {
        let turns = |speed| timetable(10, 10, 1, speed).middles().map(|(turn, _)| turn).collect::<Vec<_>>();
        assert_eq!(turns("1"), [0, 2, 4, 6, 8]);
        assert_eq!(turns("4"), [0, 8]);
    }
}
