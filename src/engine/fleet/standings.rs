//! How the judged replicas of a fleet stand with the readiness rule: is a replica worse off than its neighbours?

use super::super::{Evidence, Obstacle, PolicyKey};

/// The judged replicas, by what the latest attempt came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standings {
    passing: u32,
    failing: u32,
}

/// How a replica is counted, and in whose fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Compared(pub(super) Option<(PolicyKey, Evidence)>);

impl Standings {
    /// A replica stands otherwise than before; one that is not judged is in no ratio.
    pub(super) fn change(&mut self, before: Option<Evidence>, latest: Option<Evidence>) {
        if let Some(count) = self.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.of(latest) {
            *count += 1;
        }
    }

    /// At least two replicas fail, and more than half of the judged ones.
    pub(super) fn shared(self) -> Option<Obstacle> {
        let Self { passing, failing } = self;
        (failing >= 2 && failing > passing).then_some(Obstacle::SharedFailure { failing, judged: failing + passing })
    }

    fn of(&mut self, latest: Option<Evidence>) -> Option<&mut u32> {
        match latest {
            Some(Evidence::Pass) => Some(&mut self.passing),
            Some(Evidence::Fail) => Some(&mut self.failing),
            Some(Evidence::Nothing) | None => None,
        }
    }
}

impl Compared {
    /// How it is counted in the fleet of that policy.
    pub(super) fn in_fleet(self, key: PolicyKey) -> Option<Evidence> {
        self.0.filter(|(counted_in, _)| *counted_in == key).map(|(_, latest)| latest)
    }
}
