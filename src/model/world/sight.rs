//! What the engine is shown of the simulated replicas.

use super::super::{Observer, Standing};
use super::World;
use crate::engine::{
    Container, ContainerState, Gate, GateSeen, Input, Lifecycle, NodeKey, Observation, Owner, OwnerKey, OwnerKind,
    PerRule, Place, PolicyKey, Readiness, Remembered, ReplicaKey, RevisionKey, Slot, Target, Time,
};

/// The key of the policy.
pub(super) const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);

impl<O: Observer> World<'_, O> {
    /// Everybody who is there from the beginning, warm and through with startup.
    pub(super) fn introduce(&mut self) {
        let spec = Box::new(self.policy.clone());
        let passed = PerRule { startup: true, liveness: true, readiness: true };
        self.show_owner(Time::ZERO);
        self.tell(Time::ZERO, Input::PolicySet { policy: POLICY, spec });
        self.tell(Time::ZERO, Input::PassedBefore { policy: POLICY, rules: passed });
        self.tell(Time::ZERO, Input::BeatBefore { policy: POLICY });
        for dependency in self.policy.dependencies.iter().map(|dependency| dependency.name).collect::<Vec<_>>() {
            self.tell(Time::ZERO, Input::DependencyPassedBefore { policy: POLICY, dependency });
        }
        for replica in 0..self.members.len() {
            if self.members[replica].standing != Standing::Absent {
                self.show(Time::ZERO, replica, Some(Remembered { started: true }));
            }
            self.read(replica, Time::ZERO);
        }
        self.tell(Time::ZERO, Input::Synced);
    }

    /// Shows the engine who owns the replicas: whoever wants as many as have joined.
    pub(super) fn show_owner(&mut self, now: Time) {
        let joined = self.members.iter().filter(|member| member.standing != Standing::Absent).count();
        let desired = u32::try_from(joined).unwrap_or(u32::MAX);
        let seen = Owner { kind: OwnerKind::Recreates, desired, first: 0 };
        self.tell(now, Input::OwnerSeen { owner: OWNER, seen });
    }

    /// Shows the engine a replica as it is.
    pub(super) fn show(&mut self, now: Time, index: usize, remembered: Option<Remembered>) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let is_in = self.members[index].standing == Standing::In;
        let gate = if is_in { Gate::Open } else { Gate::Closed };
        let state =
            if self.is_held(index) { ContainerState::BackingOff } else { ContainerState::Running { since: now } };
        let incarnation = self.processes[index].incarnation;
        let target = Target::Container(Container { incarnation, state, remembered });
        let targets = PerRule::from_fn(|kind| self.policy.rule(kind).map(|_| target));
        let seen = Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(number)),
            node: Some(NodeKey(self.scenario.node(index))),
            revision: Some(RevisionKey(self.scenario.revision(index))),
            lifecycle: Lifecycle::Live,
            paused_until: None,
            ready: if is_in { Readiness::Ready } else { Readiness::NotReady },
            gate: if self.is_gated() { GateSeen::Set(gate) } else { GateSeen::Ungated },
            targets,
            heartbeat: self.policy.heartbeat.map(|_| target),
            spread: u64::from(number),
            created: Time::ZERO,
        };
        self.tell(now, Input::ReplicaSeen { replica: key(index), seen: Box::new(seen) });
    }

    /// Whether somebody says who is in the pool: a rule, or the kubelet.
    pub(super) fn is_gated(&self) -> bool {
        self.policy.rules.readiness.is_some() || self.policy.heartbeat.is_some() || self.kubelet.is_some()
    }
}

/// The key of a replica.
pub(super) fn key(replica: usize) -> ReplicaKey {
    ReplicaKey { index: u32::try_from(replica).unwrap_or(u32::MAX), generation: 0 }
}
