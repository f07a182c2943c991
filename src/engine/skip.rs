//! Passing over stretches in which nothing can be decided.

use super::absorb::present;
use super::{Engine, OutcomeClass, PerRule, ReplicaKey, Time};

impl Engine {
    /// Passes over the attempts at a replica that are due before `until`: takes each as started at its time and answered
    /// at once as `answers` say, up to the first that may change what is held of the replica. Returns how many attempts
    /// those were, by rule; their effects are not told, and until the last of them a report may be ahead of its time.
    ///
    /// The world vouches for the answers, and that it tells nothing else of the replica before the last of them is over.
    /// Then the engine stands exactly as if it had been polled at each of these times. 0 where that cannot be said
    /// beforehand: something is under way at the replica, a rule of it wants a restart, or inputs wait for a poll.
    pub fn skip(&mut self, replica: ReplicaKey, until: Time, answers: PerRule<OutcomeClass>) -> PerRule<u64> {
        let nothing = PerRule::default();
        if !self.is_up_to_date() || !self.synced {
            return nothing;
        }
        let replica = present(&mut self.replicas, replica).filter(|replica| replica.is_settled);
        let Some(replica) = replica else { return nothing };
        let Some(fleet) = replica.seen.policy.and_then(|key| self.fleets.get(key)) else { return nothing };
        let is_its_own = fleet.wants(replica).is_none() && !fleet.moves_gates();
        let Some(spec) = fleet.spec.as_deref().filter(|_| is_its_own) else { return nothing };
        let skipped = replica.skip(spec, fleet.ever_passed, until, answers);
        if skipped != nothing {
            self.replica_agenda.set(replica.key.index, replica.next_look());
        }
        skipped
    }
}
