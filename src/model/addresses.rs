//! The list of addresses that requests go by: written down, or kept by the beats of the replicas.

use std::num::NonZeroU32;

use super::deaths::Deaths;
use crate::engine::{Span, Time};
use crate::registry::{Registry, Resolver};
use crate::scenario::{Condition, Leave, Scenario, TrueState};

/// How replicas say that they are there. A beat between two turns is sent in the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// From one beat to the next; none at all is a beat in every turn.
    pub every: Span,
    /// For how long an entry lives after its last beat.
    pub time_to_live: Span,
}

/// The replicas' entries, and the list that those have who send requests.
pub(super) struct Addresses {
    turn: Span,
    heartbeat: Option<Heartbeat>,
    deaths: Deaths,
    /// Who takes its own entry out and when, the latest first.
    leaving: Vec<(Time, usize)>,
    registry: Registry<usize>,
    resolver: Resolver<usize>,
}

impl Heartbeat {
    /// The scenario's, if it has a registry.
    pub fn of(scenario: &Scenario) -> Option<Self> {
        let registry = scenario.registry()?;
        let turns = |turns: NonZeroU32| scenario.turn() * u64::from(turns.get());
        Some(Self { every: turns(registry.beat), time_to_live: turns(registry.time_to_live) })
    }

    fn is_due(self, now: Time, turn: Span) -> bool {
        now.as_nanos().checked_rem(self.every.as_nanos()).is_none_or(|late| late < turn.as_nanos())
    }
}

impl Addresses {
    /// The replicas that are there from the beginning are written down; nobody has registered.
    pub(super) fn new(scenario: &Scenario, heartbeat: Option<Heartbeat>) -> Self {
        let deaths = Deaths::of(scenario);
        let leaving = deaths.iter().filter(|(_, death)| death.leave == Leave::Graceful);
        let mut leaving: Vec<_> = leaving.map(|(replica, death)| (death.from, replica)).collect();
        leaving.sort_unstable_by(|a, b| b.cmp(a));
        let resolve = scenario.resolve().map(|turns| scenario.turn() * u64::from(turns.get()));
        let written_down = (0..scenario.replicas()).filter(|replica| scenario.joins(*replica).is_none()).collect();
        Self {
            turn: scenario.turn(),
            heartbeat,
            deaths,
            leaving,
            registry: Registry::new(heartbeat.map_or(Span::ZERO, |heartbeat| heartbeat.time_to_live)),
            resolver: Resolver::new(resolve, written_down),
        }
    }

    /// A turn's beats, and those who take their own entries out. Every turn is heard, in its order.
    pub(super) fn hear(&mut self, now: Time, replicas: usize, condition: impl Fn(usize) -> Condition) {
        if self.heartbeat.is_some_and(|heartbeat| heartbeat.is_due(now, self.turn)) {
            for replica in 0..replicas {
                if self.beats(replica, condition(replica), now) {
                    self.registry.beat(replica, now);
                }
            }
        }
        while let Some((_, replica)) = self.leaving.pop_if(|(at, _)| *at <= now) {
            self.registry.leave(&replica);
        }
    }

    /// Asks the registry, if that is due before a request at `now`.
    pub(super) fn resolve(&mut self, now: Time) {
        if self.resolver.is_due(now) {
            self.resolver.take(self.registry.resolve(now), now);
        }
    }

    /// The list that a request goes by.
    pub(super) fn list(&self) -> &[usize] {
        self.resolver.list()
    }

    pub(super) const fn deaths(&self) -> &Deaths {
        &self.deaths
    }

    /// Whether a replica is up, or was until it died in this very turn.
    fn beats(&self, replica: usize, condition: Condition, now: Time) -> bool {
        let dies = self.deaths.at(replica, now).is_some_and(|death| death.from == now);
        let down = [TrueState::Starting, TrueState::Stuck, TrueState::Silent];
        (dies || !condition.is(TrueState::Stopped)) && !down.into_iter().any(|state| condition.is(state))
    }
}
