//! How many quick re-checks there may be in all.

use super::{Span, Time};

/// The most re-checks in a window: a fault of many replicas at once must not multiply what the prober does. Those that
/// find no place wait for their next attempt on the grid.
const MOST: u32 = 1_000;
const WINDOW: Span = Span::from_secs(1);

/// The re-checks of all replicas in the present window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rechecks {
    most: u32,
    since: Time,
    taken: u32,
}

impl Rechecks {
    /// At most so many in a window, and never more than without saying so.
    pub(super) fn at_most(most: u32) -> Self {
        let most = most.min(MOST);
        Self { most, since: Time::ZERO, taken: 0 }
    }

    /// Takes a place for a re-check, if there is one.
    pub(super) fn take(&mut self, now: Time) -> bool {
        if now.since(self.since) >= WINDOW {
            (self.since, self.taken) = (now, 0);
        }
        let is_free = self.taken < self.most;
        self.taken += u32::from(is_free);
        is_free
    }
}

impl Default for Rechecks {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_place_waits_and_the_next_window_has_places_again() {
        let mut rechecks = Rechecks::default();
        let taken = |rechecks: &mut Rechecks, now| (0..2 * MOST).filter(|_| rechecks.take(now)).count();
        assert_eq!(taken(&mut rechecks, Time::ZERO), MOST as usize);
        assert_eq!(taken(&mut rechecks, Time::ZERO + Span::from_millis(999)), 0);
        assert_eq!(taken(&mut rechecks, Time::ZERO + WINDOW), MOST as usize);
    }
}
