//! How a device decides, and how its decisions reach its traffic.

use std::num::NonZeroU32;

use crate::engine::{Rule, Span};

/// How often a device checks, and how many answers in a row decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    period: Span,
    failures: NonZeroU32,
    successes: NonZeroU32,
}

/// How results reach the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// What forwards the traffic reads them from time to time.
    Read(Reads),
    /// They never do.
    Never,
}

/// When what forwards the traffic reads the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    every: Span,
    again: Span,
}

/// Which way a replica goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Out of the pool.
    Eject,
    /// Back into it.
    Admit,
}

impl Check {
    /// From one check to the next; above zero.
    pub const fn period(self) -> Span {
        self.period
    }

    /// How many answers in a row decide on a move.
    pub const fn needed(self, to: Move) -> u32 {
        match to {
            Move::Eject => self.failures.get(),
            Move::Admit => self.successes.get(),
        }
    }
}

impl From<&Rule> for Check {
    fn from(rule: &Rule) -> Self {
        Self { period: rule.period, failures: rule.failure_threshold, successes: rule.success_threshold }
    }
}

impl Profile {
    /// HTTP, and TCP that is looked into.
    pub const L7: Self = Self::Read(Reads { every: Span::from_millis(2_500), again: Span::ZERO });
    /// TCP and UDP that are passed on, without a port range.
    pub const L4: Self = Self::Read(Reads { every: Span::from_secs(5), again: Span::from_secs(4) });
    /// Any protocol, or a port range.
    pub const NONE: Self = Self::Never;

    /// When the results are read, if they are.
    pub const fn reads(self) -> Option<Reads> {
        match self {
            Self::Read(reads) => Some(reads),
            Self::Never => None,
        }
    }
}

impl Reads {
    /// A read every so often. A result that has become worse counts only if it is still worse when it is read again,
    /// `again` later; zero takes it at its word. `None` if `every` is no time at all.
    pub const fn new(every: Span, again: Span) -> Option<Self> {
        if every.is_zero() { None } else { Some(Self { every, again }) }
    }

    /// From one read to the next; above zero.
    pub const fn every(self) -> Span {
        self.every
    }

    /// How long after it a result is read again before it counts; a better one counts at once.
    pub fn again(self, to: Move) -> Span {
        match to {
            Move::Eject => self.again,
            Move::Admit => Span::ZERO,
        }
    }
}

impl Move {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Eject, Self::Admit];
}
