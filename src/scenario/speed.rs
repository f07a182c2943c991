//! How many times faster than written a scenario runs.

use std::fmt;
use std::str::FromStr;

use super::Scenario;
use crate::engine::Span;

/// How many times faster than written a scenario runs: 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(u16);

impl Scenario {
    /// The same scenario with every duration divided by `speed`, each turn cut to whole nanoseconds.
    #[must_use]
    pub fn at_speed(mut self, speed: Speed) -> Self {
        self.turn = speed.shorten(self.turn);
        self
    }
}

impl Speed {
    /// As fast as written.
    pub const REAL: Self = Self(1);

    /// Ten times faster than written.
    pub const TEN: Self = Self(10);

    /// The speed as a number.
    pub const fn get(self) -> u64 {
        self.0 as u64
    }

    /// A duration at this speed.
    pub const fn shorten(self, span: Span) -> Span {
        Span::from_nanos(span.as_nanos() / self.get())
    }
}

/// That a speed is not a whole number from 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a speed is a whole number from 1 to 1000")]
pub struct NotASpeed;

impl FromStr for Speed {
    type Err = NotASpeed;

    fn from_str(text: &str) -> Result<Self, NotASpeed> {
        match text.parse() {
            Ok(speed @ 1..=1_000) => Ok(Self(speed)),
            _ => Err(NotASpeed),
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
