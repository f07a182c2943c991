//! When the attempts of a rule fall due.

use super::{Phase, RuleKind, Span, Time};

/// The grain of the phases that are spread.
const COALESCED_TO: Span = Span::from_millis(10);

/// The grid of instants that a rule's attempts fall on: every `period`, from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    period: u64,
    offset: u64,
    phase: Phase,
}

impl Grid {
    /// The grid of a rule with that period for a replica with the stable number `spread`.
    pub(super) fn new(phase: Phase, period: Span, kind: RuleKind, spread: u64) -> Self {
        let period = period.as_nanos().max(1);
        let offset = match phase {
            Phase::Aligned { origin } => origin.as_nanos() % period,
            Phase::Spread => coalesced(mix(spread ^ kind as u64) % period, period),
        };
        Self { period, offset, phase }
    }

    /// When the first attempt is due on a container that may be asked from `since` on.
    ///
    /// Spread: exactly then; on a container that could have been asked for longer than a period, on the grid, so
    /// that a controller that starts does not ask everybody at once.
    pub(super) fn first(&self, since: Time, now: Time) -> Time {
        match self.phase {
            Phase::Aligned { .. } => self.at_or_after(since.max(now)),
            Phase::Spread if now.since(since).as_nanos() >= self.period => self.at_or_after(now),
            Phase::Spread => since.max(now),
        }
    }

    /// When a rule that waited for startup is due after startup passed: spread at once, aligned on the next instant.
    pub(super) fn after_startup(&self, since: Time, passed: Time) -> Time {
        match self.phase {
            Phase::Aligned { .. } => self.at_or_after(since).max(self.after(passed)),
            Phase::Spread => since.max(passed),
        }
    }

    /// When the attempt after the first is due. Moving onto the grid shortens no tolerance of a rule that restarts.
    pub(super) fn second(&self, kind: RuleKind, now: Time) -> Time {
        let earliest = match (self.phase, kind) {
            (Phase::Aligned { .. }, _) => return self.after(now),
            (Phase::Spread, RuleKind::Startup | RuleKind::Liveness) => self.period,
            (Phase::Spread, RuleKind::Readiness) => self.period / 2,
        };
        self.at_or_after(now + Span::from_nanos(earliest))
    }

    /// The first instant of the grid after `now`; missed ones collapse.
    pub(super) fn after(&self, now: Time) -> Time {
        self.at_or_after(now + Span::from_nanos(1))
    }

    /// When, after an attempt that is due at an instant of the grid, the `n`-th further one is.
    pub(super) fn nth_after(&self, due: Time, n: u32) -> Time {
        due + Span::from_nanos(self.period) * u64::from(n)
    }

    /// How many attempts are due before `until`, the first of them at an instant of the grid.
    pub(super) fn due_before(&self, due: Time, until: Time) -> u32 {
        match until.since(due).as_nanos() {
            0 => 0,
            span => u32::try_from(span.div_ceil(self.period)).unwrap_or(u32::MAX),
        }
    }

    /// The first instant of the grid from `time` on.
    pub(super) fn at_or_after(&self, time: Time) -> Time {
        let past = (time.as_nanos() + (self.period - self.offset)) % self.period;
        match past {
            0 => time,
            past => time + Span::from_nanos(self.period - past),
        }
    }
}

/// Offsets fall on common instants where the period is long enough for them to be many: a prober that wakes for several
/// attempts at once needs half the time for each. It moves a phase once and no interval.
fn coalesced(offset: u64, period: u64) -> u64 {
    let grain = COALESCED_TO.as_nanos();
    if period.is_multiple_of(grain) && period >= 10 * grain { offset - offset % grain } else { offset }
}

/// The finalizer of SplitMix64: every bit of the input moves every bit of the output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secs(n: u64) -> Time {
        Time::ZERO + Span::from_secs(n)
    }

    #[test]
    fn aligned_attempts_fall_on_multiples_of_the_period() {
        let grid = Grid::new(Phase::Aligned { origin: secs(100) }, Span::from_secs(5), RuleKind::Liveness, 7);
        assert_eq!(grid.first(secs(120), secs(120)), secs(120));
        assert_eq!(grid.first(secs(121), secs(121)), secs(125));
        assert_eq!(grid.after(secs(120)), secs(125));
        assert_eq!(grid.after_startup(secs(100), secs(125)), secs(130));
    }

    #[test]
    fn a_spread_rule_asks_first_exactly_when_the_container_may_be_asked() {
        let grid = Grid::new(Phase::Spread, Span::from_secs(5), RuleKind::Liveness, 7);
        assert_eq!(grid.first(secs(121), secs(120)), secs(121));
        assert_eq!(grid.first(secs(119), secs(120)), secs(120));
        assert_eq!(grid.after_startup(secs(100), secs(125)), secs(125));
    }

    proptest! {
        #[test]
        fn the_second_attempt_moves_by_less_than_a_period_and_the_rest_keep_it_exactly(
            spread: u64, now in 0u64..1 << 60, period in 1u64..1 << 40, restarts: bool,
        ) {
            let kind = if restarts { RuleKind::Liveness } else { RuleKind::Readiness };
            let period = Span::from_nanos(period);
            let grid = Grid::new(Phase::Spread, period, kind, spread);
            let second = grid.second(kind, Time::from_nanos(now));
            let waited = second.since(Time::from_nanos(now)).as_nanos();
            prop_assert!(waited < (period * 2).as_nanos() && (!restarts || waited >= period.as_nanos()));
            prop_assert_eq!(grid.after(second), second + period);
        }

        #[test]
        fn counting_attempts_is_the_same_as_stepping_from_one_to_the_next(
            spread: u64, due in 0u64..1_000, period in 1u64..100, length in 0u64..2_000,
        ) {
            let grid = Grid::new(Phase::Spread, Span::from_nanos(period), RuleKind::Liveness, spread);
            let due = grid.at_or_after(Time::from_nanos(due));
            let until = due + Span::from_nanos(length);
            let mut stepped = vec![due];
            while stepped[stepped.len() - 1] < until {
                stepped.push(grid.after(stepped[stepped.len() - 1]));
            }
            let attempts = grid.due_before(due, until);
            prop_assert_eq!(attempts as usize, stepped.len() - 1);
            prop_assert_eq!(grid.nth_after(due, attempts), stepped[stepped.len() - 1]);
        }
    }
}
