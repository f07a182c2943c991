//! What each fleet rule saves in the model, by the files in `lessons/faults`: without it, with it, and under the kubelet
//! alone with the probes of the policy without it. That a cluster agrees is in `tests/e2e/against_the_kubelet.rs`.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files has failed")]

use std::path::Path;

use probe_policy::api::{ParsedPolicy, ProbePolicySpec, read_policy};
use probe_policy::engine::{Phase, Time};
use probe_policy::model::{self, Run};
use probe_policy::scenario::ScenarioFile;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lessons/faults");

#[test]
fn the_breaker_saves_all_but_the_trial_of_the_restarts_that_heal_nobody() {
    let [without, with, kubelet] = runs("breaker").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 24, ejections: 0, errors: 3250, serving: 6.40 });
    assert_eq!(with, Figures { restarts: 1, ejections: 0, errors: 0, serving: 7.93 });
    assert_eq!(kubelet, Figures { restarts: 16, ejections: 0, errors: 2650, serving: 6.67 });
}

#[test]
fn while_a_dependency_fails_nobody_is_ejected_or_restarted_and_a_fault_of_ones_own_still_ejects() {
    let [without, with, kubelet] = runs("dependency").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 16, ejections: 9, errors: 3500, serving: 6.35 });
    assert_eq!(with, Figures { restarts: 0, ejections: 1, errors: 0, serving: 7.95 });
    assert_eq!(kubelet, Figures { restarts: 16, ejections: 9, errors: 4000, serving: 5.95 });
}

#[test]
fn who_cannot_be_reached_with_its_whole_node_is_neither_ejected_nor_restarted_and_its_kubelet_reaches_it() {
    let [without, with, kubelet] = runs("node").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 6, ejections: 3, errors: 0, serving: 8.60 });
    assert_eq!(with, Figures { restarts: 0, ejections: 0, errors: 0, serving: 9.00 });
    assert_eq!(kubelet, with);
}

#[test]
fn a_bad_revision_is_out_of_the_pool_and_hardly_restarted_and_the_old_one_serves() {
    let [without, with, kubelet] = runs("revision").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 12, ejections: 2, errors: 0, serving: 8.07 });
    assert_eq!(with, Figures { restarts: 2, ..without });
    assert_eq!(kubelet, Figures { restarts: 8, ..without });
}

#[test]
fn a_revision_that_does_not_start_is_hardly_restarted() {
    let [without, with, kubelet] = runs("startup").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 16, ejections: 0, errors: 0, serving: 8.00 });
    assert_eq!(with, Figures { restarts: 2, ..without });
    assert_eq!(kubelet, Figures { restarts: 10, ..without });
}

#[test]
fn a_replica_that_restarts_keep_from_starting_serves_once_they_are_given_up() {
    let [without, with, kubelet] = runs("efficacy").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 19, ejections: 0, errors: 0, serving: 7.03 });
    assert_eq!(with, Figures { restarts: 5, serving: 7.66, ..without });
    assert_eq!(kubelet, Figures { restarts: 6, ..without });
}

#[test]
fn the_floor_keeps_a_pool_that_readiness_would_empty() {
    let [without, with, kubelet] = runs("floor").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 0, ejections: 8, errors: 1500, serving: 8.00 });
    assert_eq!(with, Figures { ejections: 0, errors: 0, ..without });
    assert_eq!(kubelet, without);
}

#[test]
fn beats_save_errors_on_a_replica_that_dies_without_a_word() {
    let [without, with, kubelet] = runs("heartbeat").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 0, ejections: 2, errors: 108, serving: 7.50 });
    assert_eq!(with, Figures { errors: 72, ..without });
    assert_eq!(kubelet, without);
}

/// The table `combined` of the lesson on discovery, from the engine: of a health check and beats the smaller window
/// counts.
#[test]
fn a_health_check_and_beats_find_each_death_within_the_smaller_of_their_windows() {
    let folder = Path::new(FOLDER).join("heartbeat");
    let scenario = ScenarioFile::read(&folder.join("scenario.yaml")).unwrap();
    let both = read_policy(&folder.join("with.yaml")).unwrap().spec;
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
fn a_window_of_failures_ejects_a_replica_that_never_fails_twice_in_a_row() {
    let [without, with, kubelet] = runs("window").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 0, ejections: 0, errors: 240, serving: 7.78 });
    assert_eq!(with, Figures { ejections: 1, errors: 24, ..without });
    assert_eq!(kubelet, without);
}

#[test]
fn a_least_time_in_the_pool_and_out_of_it_saves_turns_of_the_gate_and_costs_errors() {
    let [without, with, kubelet] = runs("dwell").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 0, ejections: 20, errors: 0, serving: 7.78 });
    assert_eq!(with, Figures { ejections: 2, errors: 120, ..without });
    assert_eq!(kubelet, without);
}

#[test]
fn ejections_that_last_longer_each_time_save_most_of_the_errors_of_a_replica_that_comes_and_goes() {
    let [without, with, kubelet] = runs("ejections").map(|run| figures(&run));
    assert_eq!(without, Figures { restarts: 0, ejections: 20, errors: 120, serving: 7.78 });
    assert_eq!(with, Figures { ejections: 4, errors: 12, ..without });
    assert_eq!(kubelet, without);
}

#[test]
fn the_kubelet_knows_no_rule() {
    for rule in Path::new(FOLDER).read_dir().unwrap() {
        let folder = rule.unwrap().path();
        let scenario = ScenarioFile::read(&folder.join("scenario.yaml")).unwrap();
        let [without, with] = ["without.yaml", "with.yaml"].map(|file| policy(&folder.join(file)));
        let [without, with] = [without, with].map(|policy| model::kubelet::run(&scenario, &policy).unwrap());
        assert_eq!(without, with, "{}", folder.display());
    }
}

/// What is claimed of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    restarts: usize,
    ejections: usize,
    errors: u64,
    /// Truly serving, with two decimals.
    serving: f64,
}

fn figures(run: &Run) -> Figures {
    let serving = (run.truly_serving() * 100.0).round() / 100.0;
    Figures { restarts: run.restarts.len(), ejections: run.ejections.len(), errors: run.total_errors(), serving }
}

/// What comes of a rule's scenario without the rule, with it, and under the kubelet alone.
fn runs(rule: &str) -> [Run; 3] {
    let folder = Path::new(FOLDER).join(rule);
    let scenario = ScenarioFile::read(&folder.join("scenario.yaml")).unwrap();
    let [without, with] = ["without.yaml", "with.yaml"].map(|file| policy(&folder.join(file)));
    [
        model::run(&scenario, &without).unwrap(),
        model::run(&scenario, &with).unwrap(),
        model::kubelet::run(&scenario, &without).unwrap(),
    ]
}

fn policy(file: &Path) -> ParsedPolicy {
    read_policy(file).unwrap().spec.parse(0, Phase::Aligned { origin: Time::ZERO }).unwrap()
}
