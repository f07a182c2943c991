//! What the rules of a policy ask of the scripted app.

use crate::api::{Handler, ParsedPolicy};
use crate::engine::{PerRule, RuleKind};
use crate::scenario::{Endpoint, Scenario};

/// Why a policy cannot be run in the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {sentence}")]
pub struct ModelError {
    /// The field, from the object's root, such as `spec.liveness.period`.
    pub path: String,
    /// What is wrong with it on this scenario.
    pub sentence: String,
}

/// What each rule asks, if the scenario has all that.
pub(super) fn endpoints(scenario: &Scenario, policy: &ParsedPolicy) -> Result<PerRule<Option<Endpoint>>, ModelError> {
    let turn = scenario.turn();
    let mut endpoints = PerRule::default();
    for kind in RuleKind::ALL {
        let (Some(rule), Some(ask)) = (policy.policy.rule(kind), &policy.asks[kind]) else { continue };
        let periods =
            [("period", Some(rule.period)), ("startupPeriod", rule.startup_period), ("fastPeriod", rule.fast_period)];
        for (field, period) in periods.into_iter().filter_map(|(field, period)| Some((field, period?))) {
            if !period.as_nanos().is_multiple_of(turn.as_nanos()) {
                return Err(ModelError {
                    path: format!("spec.{kind}.{field}"),
                    sentence: format!("{period} is no whole number of the scenario's turns of {turn}"),
                });
            }
        }
        endpoints[kind] = Some(match &ask.handler {
            Handler::Tcp { .. } => Endpoint::Connection,
            Handler::Http { path, .. } => Endpoint::at(path).ok_or_else(|| ModelError {
                path: format!("spec.{kind}.httpGet.path"),
                sentence: format!("the scenario has no endpoint {path}; it has {}", every_path()),
            })?,
        });
    }
    Ok(endpoints)
}

fn every_path() -> String {
    Endpoint::WITH_PATH.iter().filter_map(|endpoint| endpoint.path()).collect::<Vec<_>>().join(", ")
}
