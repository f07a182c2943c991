//! How the judged replicas of a fleet stand with the rules: is a replica worse off than its neighbours?

use super::super::proof::Proof;
use super::super::{Evidence, Obstacle, PolicyKey};
use super::floor::{Stand, Stock};
use super::rolling::Proofs;

/// The judged replicas of a fleet, by what their latest attempts came to. A rule that nobody compares counts nobody.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standings {
    pub(super) liveness: Tally,
    pub(super) readiness: Tally,
    pub(super) stock: Stock,
    pub(super) proofs: Proofs,
}

/// The judged replicas, by what the latest attempt of one rule came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passing: u32,
    pub(super) failing: u32,
}

/// What the latest attempts at a replica came to, and how it stands with the pool and with an edit; `None`, or given,
/// where that is not compared, or it is not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Latest {
    pub(super) liveness: Option<Evidence>,
    pub(super) readiness: Option<Evidence>,
    pub(super) stand: Option<Stand>,
    pub(super) proof: Proof,
}

/// How a replica is counted, and in whose fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Compared(pub(super) Option<(PolicyKey, Latest)>);

impl Standings {
    /// A replica stands otherwise than before.
    pub(super) fn change(&mut self, before: Latest, latest: Latest) {
        self.liveness.change(before.liveness, latest.liveness);
        self.readiness.change(before.readiness, latest.readiness);
        self.stock.change(before.stand, latest.stand);
        self.proofs.change(before.proof, latest.proof);
    }

    /// At least two replicas fail the readiness rule, and more than half of the judged ones.
    pub(super) fn shared(self) -> Option<Obstacle> {
        let Tally { passing, failing } = self.readiness;
        (failing >= 2 && failing > passing).then_some(Obstacle::SharedFailure { failing, judged: failing + passing })
    }
}

impl Tally {
    /// All that are judged.
    pub(super) fn judged(self) -> u32 {
        self.passing + self.failing
    }

    /// One that is not judged is in no ratio.
    fn change(&mut self, before: Option<Evidence>, latest: Option<Evidence>) {
        if let Some(count) = self.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.of(latest) {
            *count += 1;
        }
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
    pub(super) fn in_fleet(self, key: PolicyKey) -> Latest {
        self.0.filter(|(counted_in, _)| *counted_in == key).map(|(_, latest)| latest).unwrap_or_default()
    }
}
