//! Whether what a rule has concluded of a container answers what the rule asks since an edit.

use super::OnPolicyChange;
use super::judge::Opinion;

/// How far a container is with a question that an edit brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Proof {
    /// Nothing more is asked of it than a verdict.
    #[default]
    Given,
    /// It is to pass the new question, and keeps its place in the pool until its turn.
    Awaited,
    /// It is out of the pool until it passes the new question.
    Preparing,
}

/// Whether a replica is in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standpoint {
    In,
    Out,
}

impl OnPolicyChange {
    /// What an edit of the question leaves of a verdict, and how far the container then is with the new one.
    pub(super) fn edit(
        self,
        verdict: Option<Opinion>,
        proof: Proof,
        standpoint: Standpoint,
    ) -> (Option<Opinion>, Proof) {
        match (self, proof, standpoint) {
            (Self::Keep, _, _) => (verdict, Proof::Given),
            (Self::Prepare, _, _) | (Self::Rolling, Proof::Preparing, _) => (None, Proof::Preparing),
            (Self::Rolling, Proof::Awaited, _) => (None, Proof::Awaited),
            (Self::Rolling, Proof::Given, Standpoint::In) if verdict != Some(Opinion::Bad) => (None, Proof::Awaited),
            (Self::Rolling, Proof::Given, _) => (verdict, Proof::Given),
        }
    }

    /// How far a container is that still awaited its turn when this was edited.
    pub(super) fn awaited(self) -> Proof {
        match self {
            Self::Keep => Proof::Given,
            Self::Prepare => Proof::Preparing,
            Self::Rolling => Proof::Awaited,
        }
    }
}
