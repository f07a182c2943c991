//! The engine alone: a fleet in which every attempt passes, attempt by attempt.

use probe_policy::api::ParsedPolicy;
use probe_policy::engine::{
    Container, ContainerState, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle,
    Observation, Outcome, OutcomeClass, Owner, OwnerKey, OwnerKind, PerRule, Phase, Place, PolicyKey, Readiness,
    Remembered, ReplicaKey, Slot, Span, Target, Time,
};
use probe_policy::lesson::Setting;

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
const REPLICAS: u32 = 1_000;

/// Prints how many attempts a second the engine starts and judges.
pub fn print() {
    for (name, phase) in [("spread", Phase::Spread), ("aligned", Phase::Aligned { origin: Time::ZERO })] {
        let mut fleet = Fleet::new(phase);
        let mut attempts = 0;
        let mut calls = 0;
        let minute = super::clock::mean(|| {
            attempts += fleet.pass(Span::from_secs(60));
            calls += 1;
        });
        let rate = attempts as f64 / f64::from(calls) / minute.as_secs_f64();
        println!("engine, {REPLICAS} replicas, {name} phases: {:.1} million attempts per second", rate / 1e6);
    }
}

struct Fleet {
    engine: Engine,
    now: Time,
    effects: Vec<Effect>,
}

impl Fleet {
    /// Replicas that are through with startup and in the pool.
    fn new(phase: Phase) -> Self {
        let ParsedPolicy { policy, .. } = Setting::PlusStartup.policy().unwrap().spec.parse(1, phase).unwrap();
        let mut engine = Engine::new();
        let seen = Owner { kind: OwnerKind::Recreates, desired: REPLICAS, first: 0 };
        let rules = PerRule { startup: true, liveness: true, readiness: true };
        engine.handle(Time::ZERO, Input::OwnerSeen { owner: OWNER, seen });
        engine.handle(Time::ZERO, Input::PolicySet { policy: POLICY, spec: Box::new(policy) });
        engine.handle(Time::ZERO, Input::PassedBefore { policy: POLICY, rules });
        for index in 0..REPLICAS {
            let replica = ReplicaKey { index, generation: 0 };
            engine.handle(Time::ZERO, Input::ReplicaSeen { replica, seen: Box::new(observation(index)) });
        }
        engine.handle(Time::ZERO, Input::Synced);
        Self { engine, now: Time::ZERO, effects: Vec::new() }
    }

    /// Lets time pass, and every attempt; returns how many there were.
    fn pass(&mut self, span: Span) -> u64 {
        let end = self.now + span;
        let mut attempts = 0;
        loop {
            self.engine.poll(self.now, &mut self.effects);
            for effect in self.effects.drain(..) {
                match effect {
                    Effect::StartAttempt { attempt, .. } => {
                        let outcome = Outcome { class: OutcomeClass::Passed, took: Span::ZERO };
                        self.engine.handle(self.now, Input::AttemptFinished { attempt, outcome });
                        attempts += 1;
                    }
                    Effect::SetGate { replica, .. } => {
                        self.engine.handle(self.now, Input::GateResult { replica, result: EffectResult::Applied });
                    }
                    Effect::RecordIntent { .. }
                    | Effect::Restart { .. }
                    | Effect::Record(_)
                    | Effect::RecordFleet(_)
                    | Effect::Published { .. }
                    | Effect::Took { .. } => {}
                }
            }
            self.engine.poll(self.now, &mut self.effects);
            match self.engine.next_deadline() {
                Some((at, _)) if at < end => self.now = at,
                Some(_) | None => break,
            }
        }
        self.now = end;
        attempts
    }
}

fn observation(index: u32) -> Observation {
    let target = Some(Target::Container(Container {
        incarnation: Incarnation(1),
        state: ContainerState::Running { since: Time::ZERO },
        remembered: Some(Remembered { started: true }),
    }));
    Observation {
        policy: Some(POLICY),
        owner: Some(OWNER),
        place: Place::Fixed(Slot::Ordinal(index)),
        node: None,
        lifecycle: Lifecycle::Live,
        ready: Readiness::Ready,
        gate: GateSeen::Set(Gate::Open),
        targets: PerRule { startup: target, liveness: target, readiness: target },
        spread: u64::from(index),
        created: Time::ZERO,
    }
}
