//! What stands in the way of a restart.

use super::super::replica::Replica;
use super::super::{
    Among, IntentStage, NodeState, Obstacle, OtherOwners, OwnerKey, OwnerKind, Place, Policy, Readiness, RuleKind, Slot,
};
use super::{Fleet, Look};

impl Fleet {
    /// What stands in the way of a restart of a member, the lasting reasons first. `in_flight` is the number of other
    /// seats in a restart.
    pub(super) fn obstacle(
        &self,
        spec: &Policy,
        replica: &Replica,
        rule: RuleKind,
        in_flight: usize,
        look: &Look<'_, '_>,
    ) -> Option<Obstacle> {
        if !self.ever_passed[rule] {
            return Some(Obstacle::NeverPassed);
        }
        if let Some(obstacle) = self.owner_obstacle(spec, replica, look) {
            return Some(obstacle);
        }
        if replica.seen.node.and_then(|node| look.nodes.get(&node)) == Some(&NodeState::NotReady) {
            return Some(Obstacle::NodeNotReady);
        }
        if replica.is_backing_off() {
            return Some(Obstacle::KubeletBackoff);
        }
        let seat = replica.seat().and_then(|seat| self.seats_decided_on().get(seat));
        if let Some(seat) = seat.filter(|seat| seat.gave_up(&spec.restart)) {
            return Some(Obstacle::GaveUp { times: seat.memory.futile });
        }
        if let Some(judge) = &replica.judges[rule]
            && let Some(obstacle) = self.dependencies.excuses_restart(judge.failed_at)
        {
            return Some(obstacle);
        }
        let breaker = spec.fleet.breaker.as_ref();
        if let Some(part) = self.breakers.holding(breaker, replica, look.now) {
            let (suspect, judged) = self.suspects_of(part);
            return Some(Obstacle::Breaker { among: part.among(), suspect, judged });
        }
        if !self.breakers.fleet.lets(breaker, look.now) {
            let (suspect, judged) = self.suspects();
            return Some(Obstacle::Breaker { among: Among::Fleet, suspect, judged });
        }
        if let Some(obstacle) = self.over_budget(spec, look) {
            return Some(obstacle);
        }
        if let Some((_, waits)) = seat.and_then(|seat| seat.waits(spec.restart.backoff, look.now)) {
            return Some(waits);
        }
        let allowed = spec.restart.max_concurrent.of(self.desired).max(1);
        (in_flight >= allowed as usize).then_some(Obstacle::MaxConcurrent { allowed })
    }

    /// The restarts of the fleet that are spent, and those that are decided and not carried out yet.
    fn over_budget(&self, spec: &Policy, look: &Look<'_, '_>) -> Option<Obstacle> {
        let settings = spec.restart.budget?;
        let intents = self.seats.opened().filter_map(|(_, seat)| seat.memory.intent);
        let decided = intents.filter(|intent| intent.stage != IntentStage::CarriedOut).count();
        let decided = u32::try_from(decided).unwrap_or(u32::MAX);
        self.budget_decided_on().obstacle(settings, decided, look.now)
    }

    /// What in the replica's owner does.
    fn owner_obstacle(&self, spec: &Policy, replica: &Replica, look: &Look<'_, '_>) -> Option<Obstacle> {
        let seen = &replica.seen;
        let Some((key, owner)) = seen.owner.and_then(|key| Some((key, look.owners.get(&key)?))) else {
            return Some(Obstacle::NotRecreated);
        };
        match (owner.kind, spec.restart.other_owners) {
            (OwnerKind::Job, _) | (OwnerKind::Other, OtherOwners::Refuse) => return Some(Obstacle::NotRecreated),
            (OwnerKind::OnDelete, _) => return Some(Obstacle::OnDelete),
            (OwnerKind::Recreates | OwnerKind::RecreatesInOrder, _) | (OwnerKind::Other, OtherOwners::Restart) => {}
        }
        let others = self.headcount.live(key).saturating_sub(u32::from(replica.is_live()));
        if others >= self.headcount.wanted(key, look.owners) {
            return Some(Obstacle::ScaledDown);
        }
        if let (OwnerKind::RecreatesInOrder, Place::Fixed(Slot::Ordinal(ordinal))) = (owner.kind, seen.place) {
            let below = ordinal.saturating_sub(owner.first) as usize;
            if self.ready_below(ordinal, key, look).count() < below {
                return Some(Obstacle::LowerOrdinalNotReady);
            }
        }
        None
    }

    fn ready_below<'a>(
        &'a self,
        ordinal: u32,
        owner: OwnerKey,
        look: &'a Look<'_, '_>,
    ) -> impl Iterator<Item = &'a Replica> {
        self.members.iter().filter_map(|index| look.replicas.get(*index as usize)?.as_ref()).filter(move |other| {
            other.seen.owner == Some(owner)
                && other.is_live()
                && matches!(other.seen.place, Place::Fixed(Slot::Ordinal(lower)) if lower < ordinal)
                && other.seen.ready == Readiness::Ready
        })
    }
}
