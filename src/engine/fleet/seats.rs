//! The seats of a fleet that remember something, and which of them are to be looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::super::seat::Seat;
use super::super::{ReplicaKey, RestartSettings, SeatKey, Time};

/// The seats that remember something. A seat is open, which is to be looked at, when it was changed, while a restart of
/// it is in flight or it was given up, and when it is to be forgotten; else it is quiet.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Seats {
    open: BTreeMap<SeatKey, Seat>,
    quiet: BTreeMap<SeatKey, Quiet>,
    /// When the quiet ones are to be forgotten.
    ends: BTreeSet<(Time, SeatKey)>,
}

#[derive(Clone, Debug)]
struct Quiet {
    seat: Seat,
    /// When it is to be forgotten, if ever.
    end: Option<Time>,
}

/// Whether a seat still remembers something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Kept,
    Forgotten,
}

impl Seats {
    pub(in super::super) fn get(&self, key: SeatKey) -> Option<&Seat> {
        self.open.get(&key).or_else(|| self.quiet.get(&key).map(|quiet| &quiet.seat))
    }

    /// All of them, in any order.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (SeatKey, &Seat)> {
        self.opened().chain(self.quiet.iter().map(|(key, quiet)| (*key, &quiet.seat)))
    }

    /// Opens a seat; a new one if it remembered nothing.
    pub(super) fn open(&mut self, key: SeatKey) -> &mut Seat {
        let Self { open, quiet, ends } = self;
        open.entry(key).or_insert_with(|| {
            let Some(Quiet { seat, end }) = quiet.remove(&key) else { return Seat::default() };
            if let Some(end) = end {
                ends.remove(&(end, key));
            }
            seat
        })
    }

    /// Opens a seat that remembers something.
    pub(super) fn open_known(&mut self, key: SeatKey) -> Option<&mut Seat> {
        self.get(key)?;
        Some(self.open(key))
    }

    /// Opens every seat, as under new settings.
    pub(super) fn open_all(&mut self) {
        self.ends.clear();
        self.open.extend(std::mem::take(&mut self.quiet).into_iter().map(|(key, quiet)| (key, quiet.seat)));
    }

    /// A replica sits nowhere any more.
    pub(super) fn vacate(&mut self, replica: ReplicaKey) {
        let sits = |(key, seat): (SeatKey, &Seat)| (seat.memory.occupant == Some(replica)).then_some(key);
        let left: Vec<_> = self.iter().filter_map(sits).collect();
        for key in left {
            self.open(key).memory.occupant = None;
        }
    }

    /// Whether any is open.
    pub(super) fn is_any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether it is open.
    pub(super) fn is_open(&self, key: SeatKey) -> bool {
        self.open.contains_key(&key)
    }

    /// Those that are open, in key order.
    pub(super) fn opened(&self) -> impl Iterator<Item = (SeatKey, &Seat)> {
        self.open.iter().map(|(key, seat)| (*key, seat))
    }

    /// Those that are open, in key order, to be changed.
    pub(super) fn opened_mut(&mut self) -> impl Iterator<Item = (SeatKey, &mut Seat)> {
        self.open.iter_mut().map(|(key, seat)| (*key, seat))
    }

    /// Changes those that are open and those that are to be forgotten by `now`, in key order. Those that are forgotten,
    /// or have no restart in flight and were not given up, are not open afterwards.
    pub(super) fn close(
        &mut self,
        now: Time,
        settings: &RestartSettings,
        mut change: impl FnMut(SeatKey, &mut Seat) -> Memory,
    ) {
        while let Some((_, key)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.open(key);
        }
        let Self { open, quiet, ends } = self;
        open.retain(|key, seat| {
            if change(*key, seat) == Memory::Forgotten {
                return false;
            }
            if seat.memory.intent.is_some() || seat.gave_up(settings) {
                return true;
            }
            let end = seat.resets(settings);
            ends.extend(end.map(|end| (end, *key)));
            quiet.insert(*key, Quiet { seat: std::mem::take(seat), end });
            false
        });
    }

    /// When the next of those that are not open is to be forgotten.
    pub(super) fn forgets_at(&self) -> Option<Time> {
        self.ends.first().map(|(at, _)| *at)
    }
}
