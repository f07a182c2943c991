//! What each fleet rule saves in the model: a scenario, and a policy with the rule and one without it, in `tests/fleet`.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::path::Path;

use probe_policy::api::{ProbePolicySpec, read_policy};
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

/// The table `combined` of the lesson on discovery, from the engine: of a health check and beats the smaller window
/// counts.
#[test]
fn a_health_check_and_beats_find_each_death_within_the_smaller_of_their_windows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/heartbeat");
    let scenario = ScenarioFile::read(&folder.join("scenario.yaml")).unwrap();
    let both = read_policy(&folder.join("both.yaml")).unwrap().spec;
    let windows = |spec: &ProbePolicySpec| {
        let policy = spec.parse(0, Phase::Aligned { origin: Time::ZERO }).unwrap();
        let run = model::run(&scenario, &policy).unwrap();
        [(2, 31), (5, 81)].map(|(replica, fault)| {
            let ejected = run.ejections.iter().find(|ejection| ejection.replica == replica && ejection.turn >= fault);
            ejected.map(|ejection| ejection.turn - fault)
        })
    };
    for (period, death, lost) in [("5s", 9, 9), ("1s", 1, 1)] {
        let mut both = both.clone();
        both.readiness.as_mut().unwrap().period = period.parse().unwrap();
        let check = ProbePolicySpec { heartbeat: None, ..both.clone() };
        let beats = ProbePolicySpec { readiness: None, ..both.clone() };
        assert_eq!(windows(&check), [Some(death), Some(lost)], "asked every {period}");
        assert_eq!(
            windows(&beats),
            [Some(3), None],
            "it beats in the very turn of its death, and with its dependency lost"
        );
        assert_eq!(windows(&both), [Some(death.min(3)), Some(lost)], "asked every {period}");
    }
}

#[test]
fn who_cannot_be_reached_with_its_whole_node_is_neither_ejected_nor_restarted() {
    let [without, with] = both("node");
    assert_eq!((without.restarts.len(), with.restarts.len()), (6, 0));
    assert_eq!((without.ejections.len(), with.ejections.len()), (3, 0));
    assert_eq!((one_decimal(without.truly_serving()), one_decimal(with.truly_serving())), (8.6, 9.0));
}

#[test]
fn a_bad_revision_is_out_of_the_pool_and_hardly_restarted_and_the_old_one_serves() {
    let [without, with] = both("revision");
    assert_eq!((without.restarts.len(), with.restarts.len()), (12, 2));
    assert_eq!((without.total_errors(), with.total_errors()), (0, 0));
}

#[test]
fn a_revision_that_does_not_start_is_hardly_restarted() {
    let [without, with] = both("startup");
    assert_eq!((without.restarts.len(), with.restarts.len()), (16, 2));
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

#[test]
fn while_a_dependency_fails_nobody_is_ejected_or_restarted_and_a_fault_of_ones_own_still_ejects() {
    let [without, with] = both("dependency");
    let came_to = |run: &Run| (run.restarts.len(), run.ejections.len(), run.total_errors());
    assert_eq!((came_to(&without), came_to(&with)), ((16, 9, 3500), (0, 1, 0)));
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
