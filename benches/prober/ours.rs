//! The loop of the controller without a cluster: replicas that are in the pool, asked for their readiness.

use std::num::NonZeroU16;

use probe_policy::api::ProbePolicySpec;
use probe_policy::cluster::records::ObjectName;
use probe_policy::controller::metrics::Metrics;
use probe_policy::engine::{
    Container, ContainerState, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle,
    Observation, Owner, OwnerKey, OwnerKind, PerRule, Phase, Place, PolicyKey, Readiness, Remembered, ReplicaKey, Slot,
    Span, Target, Time,
};
use probe_policy::probe::{self, Attempts, Loopback};
use probe_policy::runtime::Clock;
use serde_json::json;
use tokio::runtime;

use super::{PORT, Task};

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
/// Attempts in flight at most, as the controller has it by default.
const AT_ONCE: NonZeroU16 = NonZeroU16::new(1_024).unwrap();
/// Outcomes heard before the engine decides.
const HEARD_AT_ONCE: u32 = 256;

/// Asks every target for ever.
pub fn probe(task: Task) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(run(task)).await.unwrap() });
}

async fn run(task: Task) {
    let clock = Clock::start();
    let spec: ProbePolicySpec = serde_json::from_value(json!({
        "selector": {"matchLabels": {"app": "target"}},
        "mode": "Enforce",
        "readiness": {
            "httpGet": {"port": PORT, "path": "/healthz"},
            "period": format!("{}ms", task.period_ms),
            "timeout": "1s",
        },
    }))
    .unwrap();
    let parsed = spec.parse(1, Phase::Spread).unwrap();
    let handler = &parsed.asks.readiness.as_ref().unwrap().handler;
    let place = |index| probe::Target::new(handler, Task::address(index), Loopback::Allowed).unwrap();
    let places: Vec<_> = (0..task.targets).map(place).collect();

    let mut engine = Engine::with_room_for(places.len());
    let now = clock.now();
    let owner = Owner { kind: OwnerKind::Recreates, desired: task.targets, first: 0 };
    engine.handle(now, Input::OwnerSeen { owner: OWNER, seen: owner });
    engine.handle(now, Input::PolicySet { policy: POLICY, spec: Box::new(parsed.policy) });
    for index in 0..task.targets {
        let seen = Box::new(observation(index, now - Span::from_secs(3_600)));
        engine.handle(now, Input::ReplicaSeen { replica: ReplicaKey { index, generation: 0 }, seen });
    }
    engine.handle(now, Input::Synced);

    let policy = ObjectName { namespace: "default".into(), name: "bench".into() };
    let (metrics, mut attempts, mut effects) = (Metrics::new(), Attempts::new(AT_ONCE), Vec::new());
    loop {
        let now = clock.now();
        engine.poll(now, &mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::StartAttempt { attempt, policy, deadline, .. } => {
                    let place = places[attempt.replica.index as usize].clone();
                    attempts.start(Some(place), attempt, policy, deadline.since(now));
                }
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
        let due = engine.next_deadline().map(|(at, _)| at);
        let mut first = tokio::select! {
            ended = attempts.ended() => Some(ended),
            () = clock.sleep_until(due) => None,
        };
        let now = clock.now();
        for _ in 0..HEARD_AT_ONCE {
            let Some(ended) = first.take().or_else(|| attempts.try_ended()) else { break };
            metrics.attempted(&policy, ended.attempt.rule, ended.outcome);
            engine.handle(now, Input::AttemptFinished { attempt: ended.attempt, outcome: ended.outcome });
        }
    }
}

fn observation(index: u32, since: Time) -> Observation {
    let container = Container {
        incarnation: Incarnation(1),
        state: ContainerState::Running { since },
        remembered: Some(Remembered { started: true }),
    };
    Observation {
        policy: Some(POLICY),
        owner: Some(OWNER),
        place: Place::Fixed(Slot::Ordinal(index)),
        node: None,
        lifecycle: Lifecycle::Live,
        ready: Readiness::Ready,
        gate: GateSeen::Set(Gate::Open),
        targets: PerRule { startup: None, liveness: None, readiness: Some(Target::Container(container)) },
        spread: u64::from(index),
        created: since,
    }
}
