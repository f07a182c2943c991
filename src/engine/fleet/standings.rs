//! How the judged replicas of a fleet stand with the readiness rule: is a replica worse off than its neighbours?

use std::collections::BTreeSet;

use super::super::{Evidence, Obstacle};

/// The judged replicas, by index.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings {
    passing: BTreeSet<u32>,
    failing: BTreeSet<u32>,
}

impl Standings {
    /// What the latest attempt at a replica came to; one that is not judged is in no ratio.
    pub(super) fn note(&mut self, replica: u32, latest: Option<Evidence>) {
        self.forget(replica);
        match latest {
            Some(Evidence::Pass) => self.passing.insert(replica),
            Some(Evidence::Fail) => self.failing.insert(replica),
            Some(Evidence::Nothing) | None => false,
        };
    }

    /// A replica is none of the fleet's any more.
    pub(super) fn forget(&mut self, replica: u32) {
        self.passing.remove(&replica);
        self.failing.remove(&replica);
    }

    /// At least two replicas fail, and more than half of the judged ones.
    pub(super) fn shared(&self) -> Option<Obstacle> {
        let (passing, failing) = (self.passing.len(), self.failing.len());
        let number = |replicas: usize| u32::try_from(replicas).unwrap_or(u32::MAX);
        (failing >= 2 && failing > passing)
            .then(|| Obstacle::SharedFailure { failing: number(failing), judged: number(failing + passing) })
    }
}
