//! Which replicas say that they are there, and when.

use std::num::NonZeroU32;

use super::deaths::Deaths;
use crate::engine::{Span, Time};
use crate::scenario::{Condition, Leave, Scenario, TrueState};

/// How replicas say that they are there. A beat between two turns is sent in the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// From one beat to the next; none at all is a beat in every turn.
    pub every: Span,
    /// For how long an entry lives after its last beat.
    pub time_to_live: Span,
}

/// What is still to be said in a run.
pub(super) struct Beats {
    turn: Span,
    every: Option<Span>,
    deaths: Deaths,
    /// Who says that it goes and when, the latest first.
    leaving: Vec<(Time, usize)>,
}

/// What a replica says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It is there.
    Beat(usize),
    /// It goes.
    Leave(usize),
}

impl Heartbeat {
    /// The scenario's, if it has a registry.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let registry = scenario.registry()?;
        let turns = |turns: NonZeroU32| scenario.turn() * u64::from(turns.get());
        Some(Self { every: turns(registry.beat), time_to_live: turns(registry.time_to_live) })
    }
}

impl Beats {
    pub(super) fn new(scenario: &Scenario, heartbeat: Option<Heartbeat>) -> Self {
        let deaths = Deaths::of(scenario);
        let leaving = deaths.iter().filter(|(_, death)| death.leave == Leave::Graceful);
        let mut leaving: Vec<_> = leaving.map(|(replica, death)| (death.from, replica)).collect();
        leaving.sort_unstable_by(|a, b| b.cmp(a));
        Self { turn: scenario.turn(), every: heartbeat.map(|heartbeat| heartbeat.every), deaths, leaving }
    }

    /// A turn's beats, and then those who say that they go. Every turn with a word in it is heard, in its order.
    pub(super) fn hear(
        &mut self,
        now: Time,
        replicas: usize,
        condition: impl Fn(usize) -> Condition,
        mut said: impl FnMut(Word),
    ) {
        if self.is_due(now) {
            let beating = (0..replicas).filter(|replica| self.beats(*replica, condition(*replica), now));
            beating.for_each(|replica| said(Word::Beat(replica)));
        }
        while let Some((_, replica)) = self.leaving.pop_if(|(at, _)| *at <= now) {
            said(Word::Leave(replica));
        }
    }

    /// When something may be said after `now`.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let every = self.every.map(|every| every.max(Span::from_nanos(1)).as_nanos());
        let beat = every.map(|every| Time::from_nanos((now.as_nanos() / every + 1) * every));
        let leave = self.leaving.last().map(|(at, _)| *at);
        [beat, leave].into_iter().flatten().min()
    }

    pub(super) const fn deaths(&self) -> &Deaths {
        &self.deaths
    }

    fn is_due(&self, now: Time) -> bool {
        let late = |every: Span| now.as_nanos().checked_rem(every.as_nanos());
        self.every.is_some_and(|every| late(every).is_none_or(|late| late < self.turn.as_nanos()))
    }

    /// Whether a replica is up, or was until it died in this very turn.
    fn beats(&self, replica: usize, condition: Condition, now: Time) -> bool {
        let dies = self.deaths.at(replica, now).is_some_and(|death| death.from == now);
        let down = [TrueState::Starting, TrueState::Stuck, TrueState::Silent];
        (dies || !condition.is(TrueState::Stopped)) && !down.into_iter().any(|state| condition.is(state))
    }
}
