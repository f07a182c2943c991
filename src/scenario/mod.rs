//! What happens to a fleet: how long each replica takes to start, when it is reopened as planned, which faults hit
//! it, and from these, as a pure function of time, the true state of every replica. Probes never see that state; the
//! model computes with it and the fake app acts it out.
//!
//! A [`ScenarioFile`] is what people write. A [`Scenario`] is what has been checked: it holds no nonsense.

mod endpoint;
mod file;
mod state;

pub use endpoint::Endpoint;
pub use file::{DependencyLost, Fault, Reopening, Replicas, ScenarioFile, Startup, Stuck};
pub use state::{Opening, TrueState};

use crate::engine::{Span, Time};

/// The most replicas a scenario may have.
pub const MAX_REPLICAS: u32 = 100_000;

/// A checked scenario. Replicas are numbered from 0, time counts from t = 0, at which all replicas are warm, and
/// everything happens at the beginning of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    turn: Span,
    turns: u32,
    requests_per_turn: u32,
    replicas: Vec<Replica>,
}

/// What happens to one replica, in whole turns; each list in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Replica {
    startup: u32,
    reopenings: Vec<u32>,
    stuck: Vec<u32>,
    dependency_lost: Vec<Lost>,
}

/// A dependency lost from one turn on for some turns, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lost {
    at: u32,
    turns: u32,
}

impl Scenario {
    /// The length of a turn; never zero.
    pub const fn turn(&self) -> Span {
        self.turn
    }

    /// How many turns there are; at least one.
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// How many requests arrive in a turn.
    pub const fn requests_per_turn(&self) -> u32 {
        self.requests_per_turn
    }

    /// How many replicas there are: from 1 to [`MAX_REPLICAS`].
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// The length of all turns together.
    pub fn length(&self) -> Span {
        self.turn * u64::from(self.turns)
    }

    /// When a turn begins.
    pub fn begin_of(&self, turn: u32) -> Time {
        Time::ZERO + self.turn * u64::from(turn)
    }

    /// The turn that an instant belongs to. Turns go on being counted past the end.
    pub const fn turn_at(&self, time: Time) -> u64 {
        time.as_nanos() / self.turn.as_nanos()
    }

    /// How long a replica takes to start; zero for one that the scenario does not have.
    pub fn startup(&self, replica: usize) -> Span {
        self.replicas.get(replica).map_or(Span::ZERO, |replica| self.turn * u64::from(replica.startup))
    }

    /// When a replica is reopened as planned, in the order of time.
    pub fn reopenings(&self, replica: usize) -> impl Iterator<Item = Time> + '_ {
        let turns = self.replicas.get(replica).map_or(&[][..], |replica| &replica.reopenings);
        turns.iter().map(|&turn| self.begin_of(turn))
    }

    /// The same scenario with every duration divided by `speed`, each turn cut to whole nanoseconds.
    pub fn at_speed(mut self, speed: Speed) -> Self {
        self.turn = speed.shorten(self.turn);
        self
    }
}

/// How many times faster than written a scenario runs: 1 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(u16);

impl Speed {
    /// As fast as written.
    pub const REAL: Self = Self(1);

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

impl std::str::FromStr for Speed {
    type Err = NotASpeed;

    fn from_str(text: &str) -> Result<Self, NotASpeed> {
        match text.parse() {
            Ok(speed @ 1..=1_000) => Ok(Self(speed)),
            _ => Err(NotASpeed),
        }
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
