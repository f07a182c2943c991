//! The engine itself, asked when a replica is ejected.

use std::num::NonZeroU32;

use probe_policy::engine::{
    AttemptId, Container, ContainerState, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle,
    Observation, Outcome, OutcomeClass, Owner, OwnerKey, OwnerKind, PerRule, Phase, Place, Policy, PolicyKey,
    Readiness, Remembered, ReplicaKey, Rule, Slot, Span, Target, Time,
};
use probe_policy::lesson::Setting;

use super::{Answer, Fault, PERIOD, THRESHOLD, TIMEOUT};

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
const REPLICA: ReplicaKey = ReplicaKey { index: 0, generation: 0 };

pub fn decide(fast: Option<Span>, phase: Span, fault: Fault) -> Option<Time> {
    let mut engine = settled(fast, phase);
    let (mut now, mut effects) = (Time::ZERO, Vec::new());
    let mut under_way: Vec<(AttemptId, Answer)> = Vec::new();
    loop {
        for (attempt, answer) in under_way.extract_if(.., |(_, answer)| answer.at <= now) {
            let class = if answer.passes { OutcomeClass::Passed } else { OutcomeClass::NoResponse };
            engine.handle(now, Input::AttemptFinished { attempt, outcome: Outcome { class, took: Span::ZERO } });
        }
        engine.poll(now, &mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::StartAttempt { attempt, .. } => under_way.push((attempt, fault.answer(now))),
                Effect::SetGate { gate: Some(Gate::Closed), .. } => return Some(now),
                Effect::SetGate { replica, .. } => {
                    engine.handle(now, Input::GateResult { replica, result: EffectResult::Applied });
                }
                Effect::RecordIntent { .. }
                | Effect::Restart { .. }
                | Effect::Record(_)
                | Effect::RecordFleet(_)
                | Effect::Published { .. }
                | Effect::Took { .. } => {}
            }
        }
        if now > fault.until + PERIOD {
            return None;
        }
        let deadline = engine.next_deadline().map(|(at, _)| at);
        now = under_way.iter().map(|(_, answer)| answer.at).chain(deadline).min()?.max(now);
    }
}

/// A replica in the pool, asked on that phase for as long as it matters.
fn settled(fast: Option<Span>, phase: Span) -> Engine {
    let mut policy = policy();
    let rule = policy.rules.readiness.take().map(|rule| Rule {
        period: PERIOD,
        timeout: TIMEOUT,
        failure_threshold: NonZeroU32::new(THRESHOLD).unwrap(),
        fast_period: fast,
        ..rule
    });
    policy.rules = PerRule { startup: None, liveness: None, readiness: rule };
    policy.phase = Phase::Aligned { origin: Time::ZERO + phase };
    let mut engine = Engine::with_room_for(1);
    let owner = Owner { kind: OwnerKind::Recreates, desired: 1, first: 0 };
    engine.handle(Time::ZERO, Input::OwnerSeen { owner: OWNER, seen: owner });
    engine.handle(Time::ZERO, Input::PolicySet { policy: POLICY, spec: Box::new(policy) });
    let passed = PerRule { startup: true, liveness: true, readiness: true };
    engine.handle(Time::ZERO, Input::PassedBefore { policy: POLICY, rules: passed });
    engine.handle(Time::ZERO, Input::ReplicaSeen { replica: REPLICA, seen: Box::new(observation()) });
    engine.handle(Time::ZERO, Input::Synced);
    engine
}

/// One that enforces, with a readiness rule.
fn policy() -> Policy {
    let spec = Setting::PlusStartup.policy().unwrap().spec;
    spec.parse(1, Phase::Spread).unwrap().policy
}

fn observation() -> Observation {
    let container = Container {
        incarnation: Incarnation(1),
        state: ContainerState::Running { since: Time::ZERO },
        remembered: Some(Remembered { started: true }),
    };
    Observation {
        policy: Some(POLICY),
        owner: Some(OWNER),
        place: Place::Fixed(Slot::Ordinal(0)),
        node: None,
        lifecycle: Lifecycle::Live,
        ready: Readiness::Ready,
        gate: GateSeen::Set(Gate::Open),
        targets: PerRule { startup: None, liveness: None, readiness: Some(Target::Container(container)) },
        spread: 0,
        created: Time::ZERO,
    }
}
