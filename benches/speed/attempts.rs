//! The engine alone: a fleet in which every attempt passes, attempt by attempt.

use probe_policy::api::ParsedPolicy;
use probe_policy::engine::{Effect, EffectResult, Engine, Input, Outcome, OutcomeClass, Phase, Span, Time};
use probe_policy::lesson::Setting;

use super::warm;

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
    fn new(phase: Phase) -> Self {
        let ParsedPolicy { policy, .. } = Setting::PlusStartup.policy().unwrap().spec.parse(1, phase).unwrap();
        Self { engine: warm::engine(policy, REPLICAS, Time::ZERO), now: Time::ZERO, effects: Vec::new() }
    }

    /// Lets time pass, and every attempt; returns how many there were.
    fn pass(&mut self, span: Span) -> u64 {
        let end = self.now + span;
        let mut attempts = 0;
        loop {
            self.engine.poll(self.now, &mut self.effects);
            for effect in self.effects.drain(..) {
                if let Effect::StartAttempt { attempt, .. } = effect {
                    let outcome = Outcome { class: OutcomeClass::Passed, took: Span::ZERO };
                    self.engine.handle(self.now, Input::AttemptFinished { attempt, outcome });
                    attempts += 1;
                } else if let Effect::SetGate { replica, .. } = effect {
                    self.engine.handle(self.now, Input::GateResult { replica, result: EffectResult::Applied });
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
