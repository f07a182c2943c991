//! What the rules of a policy ask of the scripted app.

use crate::api::{Handler, ParsedPolicy};
use crate::engine::{PerRule, RuleKind, Span};
use crate::scenario::{Endpoint, Scenario};

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
    #[error("spec.{rule}.httpGet.path: the scenario has no endpoint {path}; it has {}", every_path())]
    NoEndpoint {
        /// Whose path.
        rule: RuleKind,
        /// The path.
        path: String,
    },
}

/// What each rule asks, if the scenario has all that.
pub(super) fn endpoints(scenario: &Scenario, policy: &ParsedPolicy) -> Result<PerRule<Option<Endpoint>>, ModelError> {
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

fn every_path() -> String {
    Endpoint::WITH_PATH.iter().filter_map(|endpoint| endpoint.path()).collect::<Vec<_>>().join(", ")
}
