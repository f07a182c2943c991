//! The decision engine: pure, deterministic, the same in every world.
//!
//! The world's loop has three steps:
//! 1. [`Engine::handle`] every fact as it arrives; that only records.
//! 2. [`Engine::poll`] once per instant; that decides over all that was recorded and says what to do.
//! 3. Carry the effects out, answer each with an input, and come back by [`Engine::next_deadline`].

mod effect;
mod input;
mod keys;
mod outcome;
mod policy;
mod reason;
mod report;
mod time;

pub use effect::{Effect, Transition, TransitionKind, Verdict};
pub use input::{
    Container, ContainerState, EffectResult, Gate, GateSeen, Input, Intent, IntentStage, Lifecycle, NodeState,
    Observation, Owner, OwnerKind, Place, Readiness, Refusal, Remembered, SeatMemory, Target, TargetProblem,
};
pub use keys::{
    AttemptId, Incarnation, NodeKey, OwnerKey, PolicyKey, Question, ReplicaKey, SeatKey, Slot, TransitionId,
};
pub use outcome::{Evidence, Outcome, OutcomeClass};
pub use policy::{Amount, Backoff, Mode, PerRule, Phase, Policy, Pool, RestartMethod, RestartSettings, Rule, RuleKind};
pub use reason::{Obstacle, Reason};
pub use report::{PolicyReport, ReplicaReport, ReplicaState, RuleReport, SeatReport};
pub use time::{Span, Time};

/// The decision engine.
#[derive(Debug, Default)]
pub struct Engine {}

impl Engine {
    /// An engine that knows nothing and decides nothing before [`Input::Synced`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a fact. Decides nothing.
    pub fn handle(&mut self, _now: Time, _input: Input) {}

    /// Decides over all that was recorded and appends what is to be done.
    pub fn poll(&mut self, _now: Time, _effects: &mut Vec<Effect>) {}

    /// When to poll next if nothing happens before, and what for.
    pub fn next_deadline(&self) -> Option<(Time, &'static str)> {
        None
    }

    /// What the engine holds of a policy and its replicas now.
    pub fn report(&self, _policy: PolicyKey) -> Option<PolicyReport> {
        None
    }
}
