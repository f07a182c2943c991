//! How the judged replicas of a fleet stand with the rules: is a replica worse off than its neighbours?

use super::super::PolicyKey;
use super::super::proof::Proof;
use super::floor::{Stand, Stock};
use super::judged::{Judged, Kin, Revisions, Sign};
use super::rolling::Proofs;

/// The judged replicas of a fleet, by what their latest attempts came to. A rule that nobody compares counts nobody.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings {
    /// Whoever has started passes; whoever has failed to start, and not started since, fails.
    pub(super) startup: Revisions,
    pub(super) liveness: Judged,
    pub(super) readiness: Judged,
    pub(super) stock: Stock,
    pub(super) proofs: Proofs,
}

/// What the latest attempts at a replica came to, and how it stands with the pool and with an edit; `None`, or given,
/// where that is not compared, or it is not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Latest {
    pub(super) kin: Kin,
    pub(super) startup: Option<Sign>,
    pub(super) liveness: Option<Sign>,
    pub(super) readiness: Option<Sign>,
    pub(super) stand: Option<Stand>,
    pub(super) proof: Proof,
}

/// How a replica is counted, and in whose fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Compared(pub(super) Option<(PolicyKey, Latest)>);

impl Standings {
    /// A replica stands otherwise than before.
    pub(super) fn change(&mut self, before: Latest, latest: Latest) {
        let moved = before.kin != latest.kin;
        if moved || before.startup != latest.startup {
            before.startup.into_iter().for_each(|sign| self.startup.subtract(before.kin.revision, sign));
            latest.startup.into_iter().for_each(|sign| self.startup.add(latest.kin.revision, sign));
        }
        for (judged, was, is) in [
            (&mut self.liveness, before.liveness, latest.liveness),
            (&mut self.readiness, before.readiness, latest.readiness),
        ] {
            if moved || was != is {
                was.into_iter().for_each(|sign| judged.subtract(before.kin, sign));
                is.into_iter().for_each(|sign| judged.add(latest.kin, sign));
            }
        }
        self.stock.change(before.stand, latest.stand);
        self.proofs.change(before.proof, latest.proof);
    }
}

impl Compared {
    /// How it is counted in the fleet of that policy.
    pub(super) fn in_fleet(self, key: PolicyKey) -> Latest {
        self.0.filter(|(counted_in, _)| *counted_in == key).map(|(_, latest)| latest).unwrap_or_default()
    }
}

impl Latest {
    /// Whether only the readiness rule sees a difference.
    pub(super) fn is_as_ready_but_for(self, other: Self) -> bool {
        Self { readiness: other.readiness, ..self } == other
    }
}
