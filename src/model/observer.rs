//! Watching a run step by step.

use super::Traffic;
use crate::engine::{FleetTransition, OutcomeClass, RuleKind, Time, Transition};
use crate::scenario::{Condition, Endpoint, Opening, Stores};

/// Watches a run. It is told of everything in the order in which it happens; what it does not care for costs nothing.
pub trait Observer {
    /// A replica was opened, as planned, because it joins, or by a restart.
    fn opened(&mut self, _at: Moment, _replica: usize, _opening: Opening) {}

    /// A rule asked a replica and was answered.
    fn attempted(&mut self, _at: Moment, _attempt: &Attempt) {}

    /// The engine says what it decided about a replica of which this was true; the sentence is the `Display` of the
    /// transition's reason.
    fn decided(&mut self, _at: Moment, _transition: &Transition, _condition: Condition) {}

    /// The engine says what it decided about the fleet as a whole.
    fn fleet_decided(&mut self, _at: Moment, _transition: &FleetTransition) {}

    /// A turn is over: its decisions were taken and its requests were sent.
    fn passed(&mut self, _at: Moment, _turn: &Turn<'_>) {}
}

/// Nobody watches.
impl Observer for () {}

/// Somebody else watches.
impl<O: Observer> Observer for &mut O {
    fn opened(&mut self, at: Moment, replica: usize, opening: Opening) {
        (**self).opened(at, replica, opening);
    }

    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        (**self).attempted(at, attempt);
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        (**self).decided(at, transition, condition);
    }

    fn fleet_decided(&mut self, at: Moment, transition: &FleetTransition) {
        (**self).fleet_decided(at, transition);
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        (**self).passed(at, turn);
    }
}

/// Two watch; the first is told first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn opened(&mut self, at: Moment, replica: usize, opening: Opening) {
        self.0.opened(at, replica, opening);
        self.1.opened(at, replica, opening);
    }

    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        self.0.attempted(at, attempt);
        self.1.attempted(at, attempt);
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        self.0.decided(at, transition, condition);
        self.1.decided(at, transition, condition);
    }

    fn fleet_decided(&mut self, at: Moment, transition: &FleetTransition) {
        self.0.fleet_decided(at, transition);
        self.1.fleet_decided(at, transition);
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        self.0.passed(at, turn);
        self.1.passed(at, turn);
    }
}

/// A point in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The number that the turn bears.
    pub turn: u32,
    /// The same as a time; an instant later for what happens to a container that this turn's decisions restarted.
    pub time: Time,
}

/// A rule asked a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which replica.
    pub replica: usize,
    /// Which rule.
    pub rule: RuleKind,
    /// What it asked.
    pub endpoint: Endpoint,
    /// What came of it.
    pub outcome: OutcomeClass,
    /// What was true of the replica.
    pub condition: Condition,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Every replica, by its number, after the turn's decisions.
    pub replicas: &'a [Member],
    /// Which shared stores are up.
    pub stores: Stores,
    /// What became of the requests.
    pub traffic: &'a Traffic,
}

/// A replica as the traffic finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// What is true of it; it is stopped until it joins.
    pub condition: Condition,
    /// Whether it gets requests.
    pub standing: Standing,
}

/// Whether a replica gets requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has not joined yet.
    Absent,
    /// It is out of the pool.
    Out,
    /// It is in the pool.
    In,
}
