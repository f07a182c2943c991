//! When processes are gone.

use crate::engine::Time;
use crate::scenario::{Leave, Scenario, Stop};

/// The deaths of every replica, in the order of time. Stops that overlap or touch are one death.
pub(super) struct Deaths(Vec<Vec<Death>>);

/// A process is gone for a while.
pub(super) struct Death {
    pub(super) from: Time,
    /// None for good.
    pub(super) until: Option<Time>,
    pub(super) leave: Leave,
}

impl Deaths {
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self((0..scenario.replicas()).map(|replica| merged(scenario.stops(replica))).collect())
    }

    /// The death that a replica is in.
    pub(super) fn at(&self, replica: usize, now: Time) -> Option<&Death> {
        let deaths = &self.0[replica];
        let latest = deaths.partition_point(|death| death.from <= now).checked_sub(1)?;
        Some(&deaths[latest]).filter(|death| death.covers(now))
    }

    /// All of them with their replicas, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Death)> {
        self.0.iter().enumerate().flat_map(|(replica, deaths)| deaths.iter().map(move |death| (replica, death)))
    }
}

impl Death {
    pub(super) fn covers(&self, now: Time) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until)
    }
}

fn merged(stops: impl Iterator<Item = Stop>) -> Vec<Death> {
    let mut deaths: Vec<Death> = Vec::new();
    for Stop { from, until, leave } in stops {
        match deaths.last_mut() {
            Some(death) if death.until.is_none_or(|end| from <= end) => {
                death.until = death.until.zip(until).map(|(one, other)| one.max(other));
            }
            _ => deaths.push(Death { from, until, leave }),
        }
    }
    deaths
}
