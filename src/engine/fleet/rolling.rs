//! Whose turn it is to leave the pool until it has passed what an edit asks.

use super::super::proof::{Proof, Standpoint};
use super::super::{Mode, OnPolicyChange, Policy, Pool};
use super::{Fleet, Look};

/// The replicas that are not done with what an edit asks, where they take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Proofs {
    /// They are in the pool until their turn.
    pub(super) awaited: u32,
    /// It is their turn.
    pub(super) preparing: u32,
}

impl Proofs {
    /// A replica has come further than before.
    pub(super) fn change(&mut self, before: Proof, now: Proof) {
        if let Some(count) = self.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.of(now) {
            *count += 1;
        }
    }

    fn of(&mut self, proof: Proof) -> Option<&mut u32> {
        match proof {
            Proof::Given => None,
            Proof::Awaited => Some(&mut self.awaited),
            Proof::Preparing => Some(&mut self.preparing),
        }
    }
}

impl Fleet {
    /// Gives the next replicas their turn: as many at once as restarts are allowed, and never so many that fewer are
    /// ready than the floor says.
    pub(super) fn give_turns(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        let Proofs { awaited, preparing } = self.standings.proofs;
        let leave = spec.mode == Mode::Enforce && spec.pool != Pool::None;
        if awaited == 0 || !leave {
            return;
        }
        let allowed = spec.restart.max_concurrent.of(self.desired).max(1).saturating_sub(preparing);
        let spare = spec
            .floor
            .map_or(allowed, |floor| self.standings.stock.ready.saturating_sub(floor.min_ready.of(self.desired)));
        let mut turns = allowed.min(spare);
        for index in &self.members {
            let Some(Some(replica)) = look.replicas.get_mut(*index as usize).filter(|_| turns > 0) else { continue };
            let is_in = replica.is_live() && replica.gate.standpoint() == Standpoint::In;
            if let Some(judge) = replica.judges.readiness.as_mut().filter(|_| is_in)
                && judge.proof == Proof::Awaited
            {
                judge.proof = Proof::Preparing;
                look.again(*index);
                turns -= 1;
            }
        }
    }

    /// Whether the gates of replicas to which nothing happens may move since it is their turn.
    pub(super) fn rolls(&self) -> bool {
        self.standings.proofs.awaited > 0
    }
}

/// How far a replica is that was found so, as far as that concerns its neighbours.
pub(super) fn counted(change: OnPolicyChange, proof: Proof) -> Proof {
    match change {
        OnPolicyChange::Rolling => proof,
        OnPolicyChange::Keep | OnPolicyChange::Prepare => Proof::Given,
    }
}
