//! The most attempts a second: rules that ask for more have their periods stretched, all by the same factor, so that
//! nobody is asked late without a word.

use std::fmt;
use std::num::NonZeroU32;

use super::Span;
use super::replica::Replica;

/// The most attempts a second, and how it is kept to. A tenth is left to quick re-checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceiling {
    per_second: NonZeroU32,
    /// What the rules of all replicas ask for on the grid.
    wanted: u128,
    stretch: Stretch,
}

/// How often a replica's rules ask by their periods, in millionths of an attempt a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate(u64);

/// By how much periods are longer than their policies say: 1 or more, in eighths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch(u32);

/// A ceiling on attempts that stretches periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretched {
    /// The most attempts a second.
    pub ceiling: u32,
    /// What all rules would come to a second, rounded up.
    pub wanted: u64,
    /// By how much their periods are longer.
    pub stretch: Stretch,
}

const MILLION: u128 = 1_000_000;

impl Ceiling {
    /// Nobody asks yet.
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        Self { per_second, wanted: 0, stretch: Stretch::NONE }
    }

    /// How many quick re-checks there may be a second.
    pub(super) fn rechecks(&self) -> u32 {
        self.per_second.get() / 10
    }

    /// The rules of a replica ask so often from now on.
    pub(super) fn count(&mut self, replica: &mut Replica, rate: Rate) {
        let before = std::mem::replace(&mut replica.rate, rate);
        self.wanted = self.wanted + u128::from(rate.0) - u128::from(before.0);
    }

    /// Fits the stretch to what is asked for; says whether it is another one than before. It grows as soon as it must,
    /// and shrinks once a sixteenth more would fit too, so that it does not go to and fro.
    pub(super) fn fit(&mut self) -> bool {
        let (least, roomy) = (self.fits(self.wanted), self.fits(self.wanted + self.wanted / 16));
        let fitting = Stretch(self.stretch.0.clamp(least.0, roomy.0));
        std::mem::replace(&mut self.stretch, fitting) != fitting
    }

    pub(super) fn stretch(&self) -> Stretch {
        self.stretch
    }

    /// What is to be said of it, if it stretches anything.
    pub(super) fn stretched(&self) -> Option<Stretched> {
        let wanted = u64::try_from(self.wanted.div_ceil(MILLION)).unwrap_or(u64::MAX);
        let stretched = Stretched { ceiling: self.per_second.get(), wanted, stretch: self.stretch };
        (self.stretch != Stretch::NONE).then_some(stretched)
    }

    /// The least stretch with which so much stays below the ceiling.
    fn fits(&self, wanted: u128) -> Stretch {
        let most = u128::from(self.per_second.get() - self.rechecks()) * MILLION;
        Stretch::at_least((wanted * u128::from(Stretch::NONE.0)).div_ceil(most))
    }
}

impl Rate {
    /// One attempt in every such period more.
    pub(super) fn and(self, period: Span) -> Self {
        let rate = 1_000_000_000 * MILLION / u128::from(period.as_nanos().max(1));
        Self(self.0.saturating_add(u64::try_from(rate).unwrap_or(u64::MAX)))
    }
}

impl Stretch {
    /// Periods are as their policies say.
    pub const NONE: Self = Self(8);

    /// The period that comes of one.
    pub fn of(self, period: Span) -> Span {
        let stretched = u128::from(period.as_nanos()) * u128::from(self.0) / u128::from(Self::NONE.0);
        Span::from_nanos(u64::try_from(stretched).unwrap_or(u64::MAX))
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        f64::from(self.0) / f64::from(Self::NONE.0)
    }

    /// At least so many eighths, with four binary digits: few steps, each at most an eighth more than the one before.
    fn at_least(eighths: u128) -> Self {
        let eighths = eighths.max(u128::from(Self::NONE.0));
        let coarse = eighths.ilog2() - Self::NONE.0.ilog2();
        Self(u32::try_from(eighths.div_ceil(1 << coarse) << coarse).unwrap_or(u32::MAX))
    }
}

impl Default for Stretch {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.factor())
    }
}

/// The sentence, without a full stop.
impl fmt::Display for Stretched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ceiling, wanted, stretch } = self;
        write!(
            f,
            "all rules of this controller would come to {wanted} attempts a second, and it may make {ceiling}, so every \
             period is {stretch} times as long"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_has_four_binary_digits_and_is_never_less_than_what_is_needed() {
        let steps = [0, 8, 9, 15, 16, 17, 31, 32, 33, 1_000].map(|eighths| Stretch::at_least(eighths).0);
        assert_eq!(steps, [8, 8, 9, 15, 16, 18, 32, 32, 36, 1_024]);
        assert_eq!(Stretch::at_least(9).of(Span::from_secs(8)), Span::from_secs(9));
        assert_eq!(Stretch::at_least(19).to_string(), "2.5");
    }

    #[test]
    fn it_grows_at_once_and_shrinks_only_with_room_to_spare() {
        let mut ceiling = Ceiling::new(NonZeroU32::new(100).unwrap());
        let mut fitted = |attempts: u128| {
            ceiling.wanted = attempts * MILLION;
            (ceiling.fit(), ceiling.stretch().0)
        };
        let course = [90, 91, 90, 85, 84, 180, 175, 140].map(&mut fitted);
        let expected = [(false, 8), (true, 9), (false, 9), (false, 9), (true, 8), (true, 16), (false, 16), (true, 14)];
        assert_eq!(course, expected);
    }
}
