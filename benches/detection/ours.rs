//! The engine itself, asked when a replica is ejected.

use std::num::NonZeroU32;

use probe_policy::engine::{
    AttemptId, Effect, EffectResult, Engine, Gate, Input, Outcome, OutcomeClass, PerRule, Phase, Rule, Span, Time,
};
use probe_policy::lesson::Setting;

use super::{Answer, Fault, PERIOD, THRESHOLD, TIMEOUT, warm};

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
            if let Effect::StartAttempt { attempt, .. } = effect {
                under_way.push((attempt, fault.answer(now)));
            } else if let Effect::SetGate { replica, gate, .. } = effect {
                if gate == Some(Gate::Closed) {
                    return Some(now);
                }
                engine.handle(now, Input::GateResult { replica, result: EffectResult::Applied });
            }
        }
        if now > fault.until + PERIOD {
            return None;
        }
        let deadline = engine.next_poll();
        now = under_way.iter().map(|(_, answer)| answer.at).chain(deadline).min()?.max(now);
    }
}

/// One replica, asked for its readiness on that phase.
fn settled(fast: Option<Span>, phase: Span) -> Engine {
    let phase = Phase::Aligned { origin: Time::ZERO + phase };
    let mut policy = Setting::PlusStartup.policy().unwrap().spec.parse(1, phase).unwrap().policy;
    let readiness = policy.rules.readiness.take().map(|rule| Rule {
        period: PERIOD,
        timeout: TIMEOUT,
        failure_threshold: NonZeroU32::new(THRESHOLD).unwrap(),
        fast_period: fast,
        ..rule
    });
    policy.rules = PerRule { startup: None, liveness: None, readiness };
    warm::engine(policy, 1, Time::ZERO)
}
