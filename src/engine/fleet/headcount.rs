//! How many replicas of a fleet each owner has.

use std::collections::BTreeMap;

use super::super::{Lifecycle, Observation, Owner, OwnerKey, OwnerKind};

/// The replicas of a fleet, by owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Headcount(BTreeMap<OwnerKey, Heads>);

#[derive(Clone, Copy, Debug, Default)]
struct Heads {
    all: u32,
    live: u32,
}

impl Headcount {
    /// A replica is seen so from now on.
    pub(super) fn add(&mut self, seen: &Observation) {
        if let Some(owner) = seen.owner {
            let heads = self.0.entry(owner).or_default();
            heads.all += 1;
            heads.live += u32::from(seen.lifecycle == Lifecycle::Live);
        }
    }

    /// A replica that was seen so is not any more.
    pub(super) fn subtract(&mut self, seen: &Observation) {
        let Some(owner) = seen.owner else { return };
        let Some(heads) = self.0.get_mut(&owner) else { return };
        heads.all -= 1;
        heads.live -= u32::from(seen.lifecycle == Lifecycle::Live);
        if heads.all == 0 {
            self.0.remove(&owner);
        }
    }

    /// How many of an owner's replicas are meant to run.
    pub(super) fn live(&self, owner: OwnerKey) -> u32 {
        self.0.get(&owner).map_or(0, |heads| heads.live)
    }

    /// How many replicas the owners want in all.
    pub(super) fn desired(&self, owners: &BTreeMap<OwnerKey, Owner>) -> u32 {
        self.owners().map(|owner| self.wanted(owner, owners)).fold(0, u32::saturating_add)
    }

    /// How many replicas an owner wants; of an unknown kind, as many as live.
    pub(super) fn wanted(&self, owner: OwnerKey, owners: &BTreeMap<OwnerKey, Owner>) -> u32 {
        match owners.get(&owner) {
            Some(Owner { kind: OwnerKind::Other, .. }) => self.live(owner),
            Some(known) => known.desired,
            None => 0,
        }
    }

    /// Every owner of a replica, in key order.
    fn owners(&self) -> impl Iterator<Item = OwnerKey> {
        self.0.keys().copied()
    }
}
