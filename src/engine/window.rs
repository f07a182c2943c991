//! How many of the latest attempts of a rule failed, in a row or not.

use super::Evidence;

/// So many failures among so many attempts in a row make a rule fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureWindow {
    /// The failures; from 1 to `attempts`.
    pub failures: u32,
    /// The attempts; at most [`FailureWindow::LONGEST`].
    pub attempts: u32,
}

/// The latest attempts that counted, the last of them in the lowest bit, set if it failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recent(u64);

impl FailureWindow {
    /// The most attempts that a window may be long.
    pub const LONGEST: u32 = u64::BITS;
}

impl Recent {
    /// Takes so many attempts that ended so.
    pub(super) fn note(&mut self, evidence: Evidence, attempts: u32) {
        let bits = match evidence {
            Evidence::Pass => 0,
            Evidence::Fail => lowest(attempts),
            Evidence::Nothing => return,
        };
        self.0 = self.0.checked_shl(attempts).unwrap_or(0) | bits;
    }

    /// How many of the window's attempts failed.
    pub(super) fn failures(self, window: FailureWindow) -> u32 {
        (self.0 & lowest(window.attempts)).count_ones()
    }

    /// Whether enough of them did.
    pub(super) fn fills(self, window: FailureWindow) -> bool {
        self.failures(window) >= window.failures
    }

    /// How many further attempts that end so leave that as it is; `None`: any number.
    pub(super) fn bears(self, evidence: Evidence, window: FailureWindow) -> Option<u32> {
        let changes = |attempts: u32| {
            let mut then = self;
            then.note(evidence, attempts);
            then.fills(window) != self.fills(window)
        };
        (0..window.attempts).find(|attempts| changes(attempts + 1))
    }
}

fn lowest(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_filled_by_failures_that_need_not_be_in_a_row_and_emptied_by_passes() {
        let window = FailureWindow { failures: 3, attempts: 5 };
        let mut recent = Recent::default();
        let mut filled = Vec::new();
        for answer in "FPFPFPPPFFFPP".chars() {
            recent.note(if answer == 'F' { Evidence::Fail } else { Evidence::Pass }, 1);
            filled.push(if recent.fills(window) { 'x' } else { '.' });
        }
        assert_eq!(filled.into_iter().collect::<String>(), "....x.....xxx");
        assert_eq!((recent.bears(Evidence::Pass, window), recent.bears(Evidence::Fail, window)), (Some(0), None));
        assert_eq!(Recent::default().bears(Evidence::Fail, window), Some(2));
        assert_eq!(Recent::default().bears(Evidence::Pass, window), None);
    }

    #[test]
    fn the_longest_window_forgets_nothing_too_soon() {
        let window = FailureWindow { failures: 64, attempts: FailureWindow::LONGEST };
        let mut recent = Recent::default();
        recent.note(Evidence::Fail, 1_000);
        recent.note(Evidence::Nothing, 1_000);
        assert_eq!((recent.failures(window), recent.bears(Evidence::Pass, window)), (64, Some(0)));
    }
}
