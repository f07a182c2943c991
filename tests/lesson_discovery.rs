//! The lesson "discovery", run as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;
use serde_json::{Value, json};

#[test]
fn the_published_tables_come_out_byte_for_byte_and_nothing_else() {
    for (table, published) in [
        ("placements", include_str!("../lessons/discovery/discovery-placements.csv")),
        ("budget", include_str!("../lessons/discovery/discovery-budget.csv")),
    ] {
        assert_eq!(printed(&["--table", table, "--output", "csv"]), published);
    }
}

#[test]
fn in_the_model_each_placement_is_described_before_its_figures() {
    let printed = printed(&["--world", "model"]);
    assert!(printed.contains("\nregistry: resolve registry; a beat every 1s, time to live 3s\n"), "{printed}");
    assert!(printed.contains("\n| registry + cache 800         |                3180 |"), "{printed}");
}

#[test]
fn a_placement_alone_is_its_row() {
    let rows = values(&["--world", "model", "--setting", "static-list"]);
    let row = json!([{
        "placement": "static list",
        "detection_window_ms": null,
        "to_dead_address": 200,
        "to_new_replica": 0,
        "configuration_points": 4,
    }]);
    assert_eq!(rows, row);
}

#[test]
fn a_scenario_of_ones_own_goes_by_the_name_of_its_file() {
    let rows = values(&["--world", "model", "--scenario", "lessons/discovery/registry-cache.yaml"]);
    let row = json!([{
        "placement": "lessons/discovery/registry-cache.yaml",
        "detection_window_ms": 3180,
        "to_dead_address": 93,
        "to_new_replica": 134,
        "configuration_points": 1,
    }]);
    assert_eq!(rows, row);
}

#[test]
fn a_shorter_time_to_live_saves_two_seconds_and_costs_six_beats_a_second() {
    let rows = "time_to_live_ms,window_s,dropped_per_fault,registry_beats_per_s,health_checks_per_s\n\
                3000,2.98,510.46,3.00,15.00\n\
                1000,0.98,167.87,9.00,15.00\n";
    assert_eq!(printed(&["--table", "sensitivity", "--output", "csv"]), rows);
}

#[test]
fn of_a_health_check_and_a_registry_the_smaller_window_counts() {
    let rows = "window_source,window_s,dropped_per_fault,times_worse_than_both,times_better_than_manual\n\
                health check,0.2,34.26,1.0,3000.0\n\
                registry,2.98,510.46,14.9,201.3\n\
                health check + registry,0.2,34.26,1.0,3000.0\n\
                manual,600,102778.00,3000.0,1.0\n";
    assert_eq!(printed(&["--table", "combined", "--output", "csv"]), rows);
}

#[test]
fn figures_are_whole_in_json() {
    let rows = values(&["--table", "budget"]);
    assert_eq!(rows[0]["dropped_per_fault"], json!(513.89 / 3.0 * 0.2));
    assert_eq!(rows[4]["dropped_per_month"], json!(513.89 / 3.0 * 600.0 * 2.82));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, sentence) in [
        (&["--table", "budget", "--setting", "registry"][..], "cannot be used with"),
        (&["--world", "cluster"], "invalid value 'cluster'"),
        (&["--scenario", "lessons/discovery/budget.yaml"], "lessons/discovery/budget.yaml:2:1: "),
        (&["--scenario", "lessons/nowhere.yaml"], "lessons/nowhere.yaml"),
        (&["--world", "local", "--table", "budget"], "--table prints a table of the model"),
    ] {
        let refused = lesson(args).assert().code(2).get_output().stderr.clone();
        let refused = String::from_utf8(refused).unwrap();
        assert!(refused.contains(sentence), "{refused}");
    }
}

fn values(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[args, &["--output", "json"]].concat())).unwrap()
}

fn printed(args: &[&str]) -> String {
    String::from_utf8(lesson(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn lesson(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.args(["lesson", "discovery"]).args(args);
    command
}
