//! The seats of a fleet that remember something, and which of them are to be looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::super::seat::Seat;
use super::super::{ReplicaKey, RestartSettings, SeatKey, Time};

/// The seats that remember something. A seat is open, which is to be looked at, when it was changed, while a restart of
/// it is in flight, and when it is to be forgotten.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Seats {
    all: BTreeMap<SeatKey, Listed>,
    open: Vec<SeatKey>,
    /// When each of the others is to be forgotten.
    quiet: BTreeSet<(Time, SeatKey)>,
}

#[derive(Clone, Debug, Default)]
struct Listed {
    seat: Seat,
    list: List,
}

/// Where a seat is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum List {
    #[default]
    None,
    Open,
    Quiet(Time),
}

/// Whether a seat still remembers something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Kept,
    Forgotten,
}

impl Seats {
    pub(in super::super) fn get(&self, key: SeatKey) -> Option<&Seat> {
        self.all.get(&key).map(|listed| &listed.seat)
    }

    /// All of them, in key order.
    pub(in super::super) fn iter(&self) -> impl Iterator<Item = (SeatKey, &Seat)> {
        self.all.iter().map(|(key, listed)| (*key, &listed.seat))
    }

    /// Opens a seat; a new one if it remembered nothing.
    pub(super) fn open(&mut self, key: SeatKey) -> &mut Seat {
        let Listed { seat, list } = self.all.entry(key).or_default();
        if let List::Quiet(at) = list {
            self.quiet.remove(&(*at, key));
        }
        if std::mem::replace(list, List::Open) != List::Open {
            self.open.push(key);
        }
        seat
    }

    /// Opens a seat that remembers something.
    pub(super) fn open_known(&mut self, key: SeatKey) -> Option<&mut Seat> {
        self.all.contains_key(&key).then(|| self.open(key))
    }

    /// Opens every seat, as under new settings.
    pub(super) fn open_all(&mut self) {
        let keys: Vec<_> = self.all.keys().copied().collect();
        for key in keys {
            self.open(key);
        }
    }

    /// A replica sits nowhere any more.
    pub(super) fn vacate(&mut self, replica: ReplicaKey) {
        let sits = |(_, listed): &(&SeatKey, &Listed)| listed.seat.memory.occupant == Some(replica);
        let left: Vec<_> = self.all.iter().filter(sits).map(|(key, _)| *key).collect();
        for key in left {
            self.open(key).memory.occupant = None;
        }
    }

    /// Whether any is open.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Those that are open.
    pub(super) fn opened(&self) -> impl Iterator<Item = (SeatKey, &Seat)> {
        self.open.iter().filter_map(|key| Some((*key, self.get(*key)?)))
    }

    /// Changes those that are open, in key order.
    pub(super) fn change_opened(&mut self, mut change: impl FnMut(&mut Seat)) {
        self.open.sort_unstable();
        for key in &self.open {
            if let Some(listed) = self.all.get_mut(key) {
                change(&mut listed.seat);
            }
        }
    }

    /// Changes those that are open and those that are to be forgotten by `now`, in key order. Those that are forgotten,
    /// or have no restart in flight, are not open afterwards.
    pub(super) fn close(&mut self, now: Time, settings: &RestartSettings, mut change: impl FnMut(&mut Seat) -> Memory) {
        while let Some((_, key)) = self.quiet.first().copied().filter(|(at, _)| *at <= now) {
            self.open(key);
        }
        self.open.sort_unstable();
        let Self { all, open, quiet } = self;
        open.retain(|key| {
            let Some(Listed { seat, list }) = all.get_mut(key) else { return false };
            if change(seat) == Memory::Forgotten {
                all.remove(key);
                return false;
            }
            if seat.memory.intent.is_some() {
                return true;
            }
            *list = match seat.resets(settings) {
                Some(at) => {
                    quiet.insert((at, *key));
                    List::Quiet(at)
                }
                None => List::None,
            };
            false
        });
    }

    /// When the next of those that are not open is to be forgotten.
    pub(super) fn forgets_at(&self) -> Option<Time> {
        self.quiet.first().map(|(at, _)| *at)
    }
}
