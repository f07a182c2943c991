//! The loop of the controller without a cluster: replicas that are in the pool, asked for their readiness.

use std::num::NonZeroU16;

use probe_policy::api::ProbePolicySpec;
use probe_policy::cluster::records::ObjectName;
use probe_policy::controller::metrics::Metrics;
use probe_policy::engine::{Effect, EffectResult, Input, Phase};
use probe_policy::probe::{self, Attempts, Ended, Loopback};
use probe_policy::runtime::Clock;
use serde_json::json;
use tokio::runtime;

use super::{PORT, Task, warm};

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

    let mut engine = warm::engine(parsed.policy, task.targets, clock.now());
    let policy = ObjectName { namespace: "default".into(), name: "bench".into() };
    let (metrics, mut attempts, mut effects) = (Metrics::new(), Attempts::new(AT_ONCE), Vec::new());
    loop {
        let now = clock.now();
        engine.poll(now, &mut effects);
        for effect in effects.drain(..) {
            if let Effect::StartAttempt { attempt, policy, deadline, .. } = effect {
                let place = places[attempt.replica.index as usize].clone();
                attempts.start(Some(place), attempt, policy, deadline.since(now));
            } else if let Effect::SetGate { replica, .. } = effect {
                engine.handle(now, Input::GateResult { replica, result: EffectResult::Applied });
            }
        }
        let due = engine.next_poll();
        let mut first = tokio::select! {
            ended = attempts.ended() => Some(ended),
            () = clock.sleep_until(due) => None,
        };
        let now = clock.now();
        for _ in 0..HEARD_AT_ONCE {
            let Some(ended) = first.take().or_else(|| attempts.try_ended()) else { break };
            if let Ended::Replica { attempt, outcome, .. } = ended {
                metrics.attempted(&policy, attempt.rule, outcome);
                engine.handle(now, Input::AttemptFinished { attempt, outcome });
            }
        }
    }
}
