//! What each fleet rule saves in the model: a scenario, and a policy with the rule and one without it, in `tests/fleet`.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::path::Path;

use probe_policy::api::read_policy;
use probe_policy::engine::{Phase, Time};
use probe_policy::model::{self, Run};
use probe_policy::scenario::ScenarioFile;

#[test]
fn the_breaker_saves_all_but_the_trial_of_the_restarts_that_heal_nobody() {
    let [without, with] = both("breaker");
    assert_eq!((without.restarts.len(), with.restarts.len()), (24, 1));
    assert_eq!((without.total_errors(), with.total_errors()), (3250, 0));
    assert_eq!((one_decimal(without.truly_serving()), one_decimal(with.truly_serving())), (6.4, 7.9));
}

#[test]
fn a_replica_that_restarts_keep_from_starting_serves_once_they_are_given_up() {
    let [without, with] = both("efficacy");
    assert_eq!((without.restarts.len(), with.restarts.len()), (19, 5));
    assert_eq!((one_decimal(without.truly_serving()), one_decimal(with.truly_serving())), (7.0, 7.7));
}

#[test]
fn the_floor_keeps_a_pool_that_readiness_would_empty() {
    let [without, with] = both("floor");
    assert_eq!((without.ejections.len(), with.ejections.len()), (8, 0));
    assert_eq!((without.total_errors(), with.total_errors()), (1500, 0));
}

#[test]
fn a_window_of_failures_ejects_a_replica_that_never_fails_twice_in_a_row() {
    let [without, with] = both("window");
    assert_eq!((without.ejections.len(), with.ejections.len()), (0, 1));
    assert_eq!((without.total_errors(), with.total_errors()), (240, 24));
}

#[test]
fn a_least_time_in_the_pool_and_out_of_it_saves_turns_of_the_gate_and_costs_errors() {
    let [without, with] = both("dwell");
    assert_eq!((without.ejections.len(), with.ejections.len()), (20, 2));
    assert_eq!((without.total_errors(), with.total_errors()), (0, 120));
}

#[test]
fn ejections_that_last_longer_each_time_save_most_of_the_errors_of_a_replica_that_comes_and_goes() {
    let [without, with] = both("ejections");
    assert_eq!((without.ejections.len(), with.ejections.len()), (20, 4));
    assert_eq!((without.total_errors(), with.total_errors()), (120, 12));
}

/// What comes of a rule's scenario without the rule, and with it.
fn both(rule: &str) -> [Run; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet").join(rule);
    let scenario = ScenarioFile::read(&folder.join("scenario.yaml")).unwrap();
    ["without.yaml", "with.yaml"].map(|policy| {
        let policy = read_policy(&folder.join(policy)).unwrap();
        let policy = policy.spec.parse(0, Phase::Aligned { origin: Time::ZERO }).unwrap();
        model::run(&scenario, &policy).unwrap()
    })
}

fn one_decimal(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}
