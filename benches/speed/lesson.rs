//! Runs of lesson "replicas" in the model: setting plus-startup with nine liveness rules, each run as often as the
//! others. Whatever else runs the same mix is measured side by side with this.

use std::hint::black_box;

use probe_policy::api::{Duration, ParsedPolicy, ProbePolicySpec};
use probe_policy::engine::{Phase, Time};
use probe_policy::lesson::Setting;
use probe_policy::model::{self, Observer, Run};
use probe_policy::scenario::{Scenario, ScenarioFile};

const SCENARIO: &str = include_str!("../../lessons/replicas/scenario.yaml");

/// Prints the mean time of a run, of one that skips nothing beside it, and the sum of the healthy replica turns, which
/// tells that the runs were right.
pub fn print() {
    let (scenario, policies) = (scenario(), policies());
    let serving: u64 = policies.iter().map(|policy| run(&scenario, policy).serving).sum();
    let skipping = micros(&policies, |policy| run(&scenario, policy));
    let stepping = micros(&policies, |policy| model::observe(&scenario, policy, &mut Watcher).unwrap());
    println!("lesson replicas: {skipping:.1} us per run");
    println!("lesson replicas, stepped: {stepping:.1} us per run, {:.1} times as long", stepping / skipping);
    println!("lesson replicas, healthy replica turns of the nine runs: {serving}");
}

/// The lesson's scenario.
pub fn scenario() -> Scenario {
    ScenarioFile::parse("scenario.yaml", SCENARIO).unwrap()
}

/// A policy as the model takes it.
pub fn parse(spec: &ProbePolicySpec) -> ParsedPolicy {
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}

/// Runs a policy on a scenario.
pub fn run(scenario: &Scenario, policy: &ParsedPolicy) -> Run {
    model::run(scenario, policy).unwrap()
}

struct Watcher;
impl Observer for Watcher {}

fn micros(policies: &[ParsedPolicy], mut run: impl FnMut(&ParsedPolicy) -> Run) -> f64 {
    let round = super::clock::mean(|| {
        for policy in policies {
            black_box(run(black_box(policy)));
        }
    });
    round.as_secs_f64() * 1e6 / policies.len() as f64
}

fn policies() -> Vec<ParsedPolicy> {
    let mut policies = Vec::new();
    for period in [2, 5, 10] {
        for threshold in [2, 3, 6] {
            let mut spec = Setting::PlusStartup.policy().unwrap().spec;
            let liveness = spec.liveness.as_mut().unwrap();
            (liveness.period, liveness.failure_threshold) = (Duration::from_secs(period), threshold);
            policies.push(parse(&spec));
        }
    }
    policies
}
