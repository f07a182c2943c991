//! What the rules of a policy ask of the scripted app.

use crate::api::ParsedPolicy;
use crate::engine::{PerRule, RuleKind};
use crate::scenario::{Endpoint, Scenario, Store, Unanswerable};

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
        let endpoint = Endpoint::asked_by(&ask.handler);
        endpoints[kind] = Some(endpoint.map_err(|Unanswerable { field, sentence }| ModelError {
            path: format!("spec.{kind}.{field}"),
            sentence,
        })?);
    }
    if policy.policy.heartbeat.is_some() && scenario.registry().is_none() {
        let sentence = "the scenario says nothing of beats; its registry.beat does".to_owned();
        return Err(ModelError { path: "spec.heartbeat".to_owned(), sentence });
    }
    Ok(endpoints)
}

/// Which store each dependency of a policy is, in the policy's order.
pub(super) fn stores(scenario: &Scenario, policy: &ParsedPolicy) -> Result<Vec<Store>, ModelError> {
    let turn = scenario.turn();
    let listed = policy.policy.dependencies.iter().zip(&policy.canaries).enumerate();
    let stores = listed.map(|(index, (dependency, ask))| {
        let refuse =
            |field: &str, sentence| ModelError { path: format!("spec.fleet.dependencies[{index}].{field}"), sentence };
        let period = dependency.rule.period;
        if !period.as_nanos().is_multiple_of(turn.as_nanos()) {
            let sentence = format!("{period} is no whole number of the scenario's turns of {turn}");
            return Err(refuse("period", sentence));
        }
        Store::asked_by(&ask.handler).map_err(|Unanswerable { field, sentence }| refuse(field, sentence))
    });
    stores.collect()
}
