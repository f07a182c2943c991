//! What is true of a replica at an instant.

use std::fmt;
use std::ops::{BitOr, BitXor};

use serde::{Deserialize, Serialize};

/// What a replica really is, in one word. Of several at once the first in this order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrueState {
    /// Its startup time is not over.
    Starting,
    /// It answers nothing until it is restarted.
    Stuck,
    /// Its process is gone, and no restart brings it back before its time.
    Stopped,
    /// It answers nothing, and comes back by itself.
    Silent,
    /// It is up, but cannot read yet.
    Warming,
    /// It lacks what it depends on, which comes back by itself.
    DependencyLost,
    /// It accepts writes that never reach the store.
    HalfDown,
    /// It serves.
    Healthy,
}

/// Everything that is true of a replica at an instant: any [`TrueState`]s at once, none of them when it is healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition(u8);

impl Condition {
    /// Nothing is wrong.
    pub const HEALTHY: Self = Self(0);

    /// The same, and `state` too. Healthy adds nothing.
    #[must_use]
    pub const fn with(self, state: TrueState) -> Self {
        Self(self.0 | bit(state))
    }

    /// Whether `state` is true of the replica; it is healthy only if nothing else is.
    pub const fn is(self, state: TrueState) -> bool {
        match state {
            TrueState::Healthy => self.0 == 0,
            TrueState::Starting
            | TrueState::Stuck
            | TrueState::Stopped
            | TrueState::Silent
            | TrueState::Warming
            | TrueState::DependencyLost
            | TrueState::HalfDown => self.0 & bit(state) != 0,
        }
    }

    /// The one word for it: of all that is true the first in the order of precedence.
    pub fn state(self) -> TrueState {
        self.states().next().unwrap_or(TrueState::Healthy)
    }

    /// All that is true, in the order of precedence: never nothing, and [`TrueState::Healthy`] only alone.
    pub fn states(self) -> impl Iterator<Item = TrueState> {
        TrueState::ALL.into_iter().filter(move |state| self.is(*state))
    }

    /// Whether the process answers at all.
    pub const fn is_up(self) -> bool {
        const DOWN: Condition = Condition::HEALTHY
            .with(TrueState::Starting)
            .with(TrueState::Stuck)
            .with(TrueState::Stopped)
            .with(TrueState::Silent);
        self.0 & DOWN.0 == 0
    }

    /// Whether it can read: it is up, not warming, and has its dependency.
    pub const fn can_read(self) -> bool {
        self.is_up() && !self.is(TrueState::Warming) && !self.is(TrueState::DependencyLost)
    }
}

const fn bit(state: TrueState) -> u8 {
    match state {
        TrueState::Healthy => 0,
        TrueState::Starting
        | TrueState::Stuck
        | TrueState::Stopped
        | TrueState::Silent
        | TrueState::Warming
        | TrueState::DependencyLost
        | TrueState::HalfDown => 1 << state as u8,
    }
}

impl From<TrueState> for Condition {
    fn from(state: TrueState) -> Self {
        Self::HEALTHY.with(state)
    }
}

/// What is true of either.
impl BitOr for Condition {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is true of exactly one.
impl BitXor for Condition {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

/// All its words: `stopped, warming`, or `healthy`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, state) in self.states().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(state.name())?;
        }
        Ok(())
    }
}

impl TrueState {
    /// Every state, in the order in which they take precedence.
    pub const ALL: [Self; 8] = [
        Self::Starting,
        Self::Stuck,
        Self::Stopped,
        Self::Silent,
        Self::Warming,
        Self::DependencyLost,
        Self::HalfDown,
        Self::Healthy,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Stuck => "stuck",
            Self::Stopped => "stopped",
            Self::Silent => "silent",
            Self::Warming => "warming",
            Self::DependencyLost => "dependency-lost",
            Self::HalfDown => "half-down",
            Self::Healthy => "healthy",
        }
    }
}

impl fmt::Display for TrueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_states_the_first_is_the_word() {
        let condition = Condition::HEALTHY.with(TrueState::HalfDown).with(TrueState::Silent);
        assert_eq!(condition.state(), TrueState::Silent);
        assert_eq!(condition.to_string(), "silent, half-down");
        assert!(condition.is(TrueState::HalfDown) && !condition.is(TrueState::Stopped));
    }

    #[test]
    fn healthy_is_what_nothing_else_is() {
        assert_eq!(Condition::from(TrueState::Healthy), Condition::HEALTHY);
        assert_eq!(Condition::HEALTHY.to_string(), "healthy");
        for state in TrueState::ALL {
            let condition = Condition::from(state);
            assert!(condition.is(state));
            assert_eq!(condition.state(), state);
            assert_eq!(condition.is(TrueState::Healthy), state == TrueState::Healthy);
        }
    }

    #[test]
    fn who_is_up_answers_and_who_can_read_has_data_too() {
        let those =
            |holds: fn(Condition) -> bool| TrueState::ALL.into_iter().filter(move |state| holds((*state).into()));
        let up = [TrueState::Warming, TrueState::DependencyLost, TrueState::HalfDown, TrueState::Healthy];
        assert_eq!(those(Condition::is_up).collect::<Vec<_>>(), up);
        assert_eq!(those(Condition::can_read).collect::<Vec<_>>(), up[2..]);
    }
}
