//! What quick re-checks buy, and what they cost: the figures that docs/reference.md gives.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use probe_policy::api::{ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{Phase, Time};
use probe_policy::model;
use probe_policy::scenario::{Scenario, ScenarioFile};
use serde_json::json;

/// The model's unit of time: the fast period.
const TURNS_PER_SECOND: f64 = 5.0;
/// A period of 10 s.
const PERIOD: u32 = 50;

#[test]
fn an_error_is_ejected_several_times_sooner_with_quick_rechecks() {
    let (steady, fast) = (delays(&policy(None)), delays(&policy(Some("200ms"))));
    assert_eq!(summary(&steady), "20.0 24.9 29.8");
    assert_eq!(summary(&fast), "0.4 5.3 10.2");
}

#[test]
fn a_healthy_replica_is_asked_no_more_often_for_it() {
    let healthy = scenario("[]");
    let asked = |policy| model::run(&healthy, policy).unwrap().attempts;
    assert_eq!(asked(&policy(Some("200ms"))), asked(&policy(None)));
}

/// From a lost dependency to the ejection, in seconds, for a fault at every place in the period.
fn delays(policy: &ParsedPolicy) -> Vec<f64> {
    let delay = |at: u32| {
        let scenario = scenario(&format!("[{{replica: 0, at: {at}, dependencyLost: {{for: 200}}}}]"));
        let run = model::run(&scenario, policy).unwrap();
        f64::from(run.ejections[0].turn - at) / TURNS_PER_SECOND
    };
    (4 * PERIOD + 1..=5 * PERIOD).map(delay).collect()
}

fn summary(delays: &[f64]) -> String {
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let ends = |wins: fn(f64, f64) -> f64| delays.iter().copied().reduce(wins).unwrap();
    format!("{:.1} {mean:.1} {:.1}", ends(f64::min), ends(f64::max))
}

fn scenario(faults: &str) -> Scenario {
    let text = format!(
        "{{turn: 200ms, turns: 600, requestsPerTurn: 1, replicas: {{count: 2, startup: 5}}, faults: {faults}}}"
    );
    ScenarioFile::parse("s.yaml", &text).unwrap()
}

fn policy(fast: Option<&str>) -> ParsedPolicy {
    let spec: ProbePolicySpec = serde_json::from_value(json!({
        "selector": {"matchLabels": {"app": "a"}},
        "mode": "Enforce",
        "readiness": {
            "httpGet": {"port": "http", "path": "/ready"},
            "period": "10s",
            "timeout": "1s",
            "failureThreshold": 3,
            "fastPeriod": fast,
        },
    }))
    .unwrap();
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}
