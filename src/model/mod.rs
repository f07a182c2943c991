//! The model: simulated replicas and traffic around the very engine that runs on a cluster, in logical time.
//!
//! Within a turn, in this order: planned reopenings; new faults; every attempt that is due, answered from the true
//! state; the engine's decisions, carried out at once; traffic. A restarted container begins an instant after the
//! turn's decisions, so that nothing asks it in the turn it was restarted in.

pub mod propagation;
mod traffic;
mod world;

use crate::api::{Handler, ParsedPolicy};
use crate::engine::{PerRule, Phase, Policy, RuleKind, Span, Time};
use crate::scenario::{Endpoint, Scenario, TrueState};

use world::World;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Turns that were run.
    pub turns: u32,
    /// The restarts that the engine ordered, in their order.
    pub restarts: Vec<Restart>,
    /// Failed requests, by turn.
    pub errors: Vec<u32>,
    /// Failed requests on a replica that was starting.
    pub early_errors: u64,
    /// Healthy replicas after each turn's decisions, in the pool or not, summed over the turns.
    pub serving: u64,
}

/// A restart that the engine ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Which replica.
    pub replica: usize,
    /// In which turn.
    pub turn: u32,
    /// What the replica really was.
    pub state: TrueState,
    /// Turns since the latest stuck fault that held, if one did.
    pub since_stuck: Option<u32>,
}

/// Why a policy cannot be run in the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The period is no multiple of the turn.
    #[error("spec.{rule}.period: {period} is no whole number of the scenario's turns of {turn}")]
    PeriodNotInTurns {
        /// Whose period.
        rule: RuleKind,
        /// The period.
        period: Span,
        /// The scenario's turn.
        turn: Span,
    },
    /// The scripted app has no such endpoint.
    #[error(
        "spec.{rule}.httpGet.path: the scenario has no endpoint {path}; it has /started, /live, /ready and /request"
    )]
    NoEndpoint {
        /// Whose path.
        rule: RuleKind,
        /// The path.
        path: String,
    },
}

/// Checks that a policy can be run on a scenario.
pub fn check(scenario: &Scenario, policy: &ParsedPolicy) -> Result<(), ModelError> {
    endpoints(scenario, policy).map(|_| ())
}

/// Runs a policy on a scenario from its first turn to its last.
///
/// With a readiness rule the pool is who the engine let in; without one everybody is in it all the time.
pub fn run(scenario: &Scenario, policy: &ParsedPolicy) -> Result<Run, ModelError> {
    let endpoints = endpoints(scenario, policy)?;
    let policy = Policy { phase: Phase::Aligned { origin: Time::ZERO }, ..policy.policy.clone() };
    Ok(World::new(scenario, policy, endpoints).run())
}

impl Run {
    /// Failed requests of the whole run.
    pub fn total_errors(&self) -> u64 {
        self.errors.iter().copied().map(u64::from).sum()
    }

    /// Healthy replicas a turn, on the average.
    pub fn truly_serving(&self) -> f64 {
        self.serving as f64 / f64::from(self.turns)
    }

    /// Replicas that were restarted `times` times or more.
    pub fn restarted(&self, times: usize) -> usize {
        let mut replicas: Vec<_> = self.restarts.iter().map(|restart| restart.replica).collect();
        replicas.sort_unstable();
        replicas.chunk_by(|a, b| a == b).filter(|restarts| restarts.len() >= times).count()
    }
}

fn endpoints(scenario: &Scenario, policy: &ParsedPolicy) -> Result<PerRule<Option<Endpoint>>, ModelError> {
    let turn = scenario.turn();
    let mut endpoints = PerRule::default();
    for kind in RuleKind::ALL {
        let (Some(rule), Some(ask)) = (policy.policy.rule(kind), &policy.asks[kind]) else { continue };
        if !rule.period.as_nanos().is_multiple_of(turn.as_nanos()) {
            return Err(ModelError::PeriodNotInTurns { rule: kind, period: rule.period, turn });
        }
        endpoints[kind] = Some(match &ask.handler {
            Handler::Tcp { .. } => Endpoint::Connection,
            Handler::Http { path, .. } => {
                Endpoint::at(path).ok_or_else(|| ModelError::NoEndpoint { rule: kind, path: path.clone() })?
            }
        });
    }
    Ok(endpoints)
}
