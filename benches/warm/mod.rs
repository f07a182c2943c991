//! What the benchmarks of the engine begin with: a fleet that is through with startup and in the pool.

use probe_policy::engine::{
    Container, ContainerState, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle, Observation, Owner, OwnerKey,
    OwnerKind, PerRule, Place, Policy, PolicyKey, Readiness, Remembered, ReplicaKey, Slot, Span, Target, Time,
};

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
/// For how long the containers have been running, unless time began later.
const RUNNING: Span = Span::from_secs(3_600);

/// An engine that is told at `now` of so many such replicas, whose rules others have passed before.
pub fn engine(policy: Policy, replicas: u32, now: Time) -> Engine {
    let mut engine = Engine::with_room_for(replicas as usize);
    let owner = Owner { kind: OwnerKind::Recreates, desired: replicas, first: 0 };
    let rules = PerRule { startup: true, liveness: true, readiness: true };
    let container = Container {
        incarnation: Incarnation(1),
        state: ContainerState::Running { since: now - RUNNING },
        remembered: Some(Remembered { started: true }),
    };
    let targets = PerRule::from_fn(|kind| policy.rule(kind).map(|_| Target::Container(container)));
    engine.handle(now, Input::OwnerSeen { owner: OWNER, seen: owner });
    engine.handle(now, Input::PolicySet { policy: POLICY, spec: Box::new(policy) });
    engine.handle(now, Input::PassedBefore { policy: POLICY, rules });
    for index in 0..replicas {
        let seen = Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(index)),
            node: None,
            revision: None,
            lifecycle: Lifecycle::Live,
            paused_until: None,
            ready: Readiness::Ready,
            gate: GateSeen::Set(Gate::Open),
            targets,
            heartbeat: None,
            spread: u64::from(index),
            created: now - RUNNING,
        };
        engine.handle(now, Input::ReplicaSeen { replica: ReplicaKey { index, generation: 0 }, seen: Box::new(seen) });
    }
    engine.handle(now, Input::Synced);
    engine
}
