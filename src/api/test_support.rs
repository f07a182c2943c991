//! Handlers as a policy would have them.

use std::sync::Arc;

use serde_json::{Value, from_value, json};

use super::{Handler, HttpGet, ProbePolicySpec};
use crate::engine::Phase;

/// The handler of a rule.
pub fn handler(rule: Value) -> Handler {
    let spec = json!({"selector": {"matchLabels": {"app": "a"}}, "liveness": rule});
    let policy = from_value::<ProbePolicySpec>(spec).unwrap().parse(1, Phase::Spread).unwrap();
    policy.asks.liveness.unwrap().handler
}

/// A GET with such settings beside its port.
pub fn get(mut settings: Value) -> Arc<HttpGet> {
    settings["port"] = 80.into();
    let Handler::Http(get) = handler(json!({"httpGet": settings})) else { unreachable!() };
    get
}
