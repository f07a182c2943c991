//! Where effects go, and how transitions get their numbers.

use super::{
    Effect, FleetTransition, FleetTransitionKind, PolicyKey, Reason, ReplicaKey, Time, Transition, TransitionId,
    TransitionKind,
};

/// Collects the effects of one poll.
pub(super) struct Recorder<'a> {
    next: &'a mut u64,
    effects: &'a mut Vec<Effect>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(next: &'a mut u64, effects: &'a mut Vec<Effect>) -> Self {
        Self { next, effects }
    }

    /// Something to do.
    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// The effects themselves.
    pub(super) fn effects(&mut self) -> &mut Vec<Effect> {
        self.effects
    }

    /// Something to tell.
    pub(super) fn record(
        &mut self,
        policy: Option<PolicyKey>,
        replica: ReplicaKey,
        at: Time,
        kind: TransitionKind,
        reason: Reason,
    ) -> TransitionId {
        let id = TransitionId(*self.next);
        *self.next += 1;
        self.effects.push(Effect::Record(Transition { id, policy, replica, at, kind, reason }));
        id
    }
    /// Something to tell of a fleet as a whole.
    pub(super) fn record_fleet(&mut self, policy: PolicyKey, at: Time, kind: FleetTransitionKind, reason: Reason) {
        self.effects.push(Effect::RecordFleet(FleetTransition { policy, at, kind, reason }));
    }
}
