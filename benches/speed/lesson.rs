//! Runs of lesson "replicas" in the model: setting plus-startup with nine liveness rules, each run as often as the
//! others. Whatever else runs the same mix is measured side by side with this.

use std::hint::black_box;

use probe_policy::api::{Duration, ParsedPolicy};
use probe_policy::engine::{Phase, Time};
use probe_policy::lesson::Setting;
use probe_policy::model;
use probe_policy::scenario::{Scenario, ScenarioFile};

const SCENARIO: &str = include_str!("../../lessons/replicas/scenario.yaml");

/// Prints the mean time of a run, and the mean of the truly serving replicas, which tells that the runs were right.
pub fn print() {
    let scenario = ScenarioFile::parse("scenario.yaml", SCENARIO).unwrap();
    let policies = policies();
    let serving = policies.iter().map(|policy| run(&scenario, policy)).sum::<u64>();
    let round = super::clock::mean(|| {
        for policy in &policies {
            black_box(run(black_box(&scenario), black_box(policy)));
        }
    });
    let micros = round.as_secs_f64() * 1e6 / policies.len() as f64;
    println!("lesson replicas: {micros:.1} us per run");
    println!("  healthy replica turns of the nine runs: {serving}");
}

fn run(scenario: &Scenario, policy: &ParsedPolicy) -> u64 {
    model::run(scenario, policy).unwrap().serving
}

fn policies() -> Vec<ParsedPolicy> {
    let mut policies = Vec::new();
    for period in [2, 5, 10] {
        for threshold in [2, 3, 6] {
            let mut spec = Setting::PlusStartup.policy().unwrap().spec;
            let liveness = spec.liveness.as_mut().unwrap();
            (liveness.period, liveness.failure_threshold) = (Duration::from_secs(period), threshold);
            policies.push(spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap());
        }
    }
    policies
}
