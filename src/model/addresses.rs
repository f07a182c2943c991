//! The list of addresses that requests go by: written down, or kept by the beats of the replicas.

use super::beats::{Beats, Heartbeat, Word};
use super::deaths::Deaths;
use crate::engine::{Span, Time};
use crate::registry::{Registry, Resolver};
use crate::scenario::{Condition, Scenario};

/// The replicas' entries, and the list that those have who send requests.
pub(super) struct Addresses {
    beats: Beats,
    registry: Registry<usize>,
    resolver: Resolver<usize>,
}

impl Addresses {
    /// The replicas that are there from the beginning are written down; nobody has registered.
    pub(super) fn new(scenario: &Scenario, heartbeat: Option<Heartbeat>) -> Self {
        let resolve = scenario.resolve().map(|turns| scenario.turn() * u64::from(turns.get()));
        let written_down = (0..scenario.replicas()).filter(|replica| scenario.joins(*replica).is_none()).collect();
        Self {
            beats: Beats::new(scenario, heartbeat),
            registry: Registry::new(heartbeat.map_or(Span::ZERO, |heartbeat| heartbeat.time_to_live)),
            resolver: Resolver::new(resolve, written_down),
        }
    }

    /// A turn's beats, and those who take their own entries out. Every turn is heard, in its order.
    pub(super) fn hear(&mut self, now: Time, replicas: usize, condition: impl Fn(usize) -> Condition) {
        let Self { beats, registry, .. } = self;
        beats.hear(now, replicas, condition, |word| match word {
            Word::Beat(replica) => registry.beat(replica, now),
            Word::Leave(replica) => registry.leave(&replica),
        });
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
        self.beats.deaths()
    }
}
