//! The lessons "discovery" and "propagation", run as a user runs them.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;
use serde_json::{Value, json};

#[test]
fn the_published_tables_come_out_byte_for_byte_and_nothing_else() {
    for (table, published) in [
        ("placements", include_str!("../lessons/discovery/discovery-placements.csv")),
        ("budget", include_str!("../lessons/discovery/discovery-budget.csv")),
    ] {
        assert_eq!(printed("discovery", &["--table", table, "--output", "csv"]), published);
    }
}

#[test]
fn the_lessons_need_nothing_but_their_names() {
    let discovery = printed("discovery", &[]);
    assert!(discovery.contains("\nregistry: resolve registry; a beat every 1s, time to live 3s\n"), "{discovery}");
    assert!(discovery.contains("\n| registry + cache 800         |                3180 |"), "{discovery}");
    let propagation = printed("propagation", &[]);
    assert!(propagation.starts_with("a check every 5s; 3 failures in a row eject, 2 successes in a row admit\n\n"));
    assert!(propagation.contains("\n| None    | admit |"), "{propagation}");
}

#[test]
fn a_placement_alone_is_its_row() {
    let rows = values("discovery", &["--placement", "static-list"]);
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
fn a_shorter_time_to_live_saves_two_seconds_and_costs_six_beats_a_second() {
    let rows = "time_to_live_ms,window_s,dropped_per_fault,registry_beats_per_s,health_checks_per_s\n\
                3000,2.98,510.46,3.00,15.00\n\
                1000,0.98,167.87,9.00,15.00\n";
    assert_eq!(printed("discovery", &["--table", "sensitivity", "--output", "csv"]), rows);
}

#[test]
fn of_a_health_check_and_a_registry_the_smaller_window_counts() {
    let rows = "window_source,window_s,dropped_per_fault,times_worse_than_both,times_better_than_manual\n\
                health check,0.2,34.26,1.0,3000.0\n\
                registry,2.98,510.46,14.9,201.3\n\
                health check + registry,0.2,34.26,1.0,3000.0\n\
                manual,600,102778.00,3000.0,1.0\n";
    assert_eq!(printed("discovery", &["--table", "combined", "--output", "csv"]), rows);
}

#[test]
fn figures_are_whole_in_json() {
    let rows = values("discovery", &["--table", "budget"]);
    assert_eq!(rows[0]["dropped_per_fault"], json!(513.89 / 3.0 * 0.2));
    assert_eq!(rows[4]["dropped_per_month"], json!(513.89 / 3.0 * 600.0 * 2.82));
}

#[test]
fn a_profile_adds_what_the_vendor_says_and_what_is_simulated_is_the_closed_form() {
    let rows = values("propagation", &["--table", "delay"]);
    let added: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| (&row["added_worst_s"], &row["added_mean_s"])).collect();
    let expected = json!([[2.5, 1.25], [2.5, 1.25], [9.0, 6.5], [5.0, 2.5], [null, null], [null, null]]);
    assert_eq!(json!(added), expected);
    for row in rows.as_array().unwrap() {
        assert_eq!(row["worst_s"], row["closed_form_worst_s"], "{row}");
        assert_eq!(row["mean_s"], row["closed_form_mean_s"], "{row}");
    }
    assert_eq!(rows[2]["worst_s"], json!(3.0 * 5.0 + 9.0));
    assert_eq!(rows[2]["mean_s"], json!(2.5 * 5.0 + 6.5));
}

#[test]
fn devices_may_differ_for_a_check_and_a_read_however_many_they_are() {
    for row in values("propagation", &["--table", "devices"]).as_array().unwrap() {
        let differ = match row["profile"].as_str().unwrap() {
            "L7" => json!(5.0 + 2.5),
            "L4" => json!(5.0 + 5.0),
            _ => Value::Null,
        };
        assert_eq!(row["worst_s"], differ, "{row}");
        assert_eq!(row["closed_form_worst_s"], differ, "{row}");
        assert!(row["spread_evenly_s"].as_f64() < differ.as_f64() || differ.is_null(), "{row}");
    }
}

#[test]
fn a_changed_profile_leaves_nobody_to_serve_until_the_first_has_passed() {
    for row in values("propagation", &["--table", "preparing"]).as_array().unwrap() {
        assert_eq!(row["each_worst_s"], row["closed_form_worst_s"], "{row}");
        assert_eq!(row["each_mean_s"], row["closed_form_mean_s"], "{row}");
        assert!(row["nobody_serves_s"].as_f64() <= row["somebody_missing_s"].as_f64(), "{row}");
        assert_eq!(row["nobody_serves_s"].is_null(), row["profile"] == "None");
    }
}

#[test]
fn open_connections_last_until_they_end_by_themselves() {
    let rows = values("propagation", &["--table", "connections"]);
    for row in rows.as_array().unwrap() {
        assert_eq!(row["last_ends_s"], row["closed_form_last_ends_s"], "{row}");
    }
    assert_eq!(rows[2]["connections_last_s"], json!(600.0));
    assert_eq!(rows[2]["open_then"], json!(6_000));
    assert_eq!(rows[2]["last_ends_s"], json!(15.0 + 2.5 + 600.0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (lesson, args, sentence) in [
        ("discovery", &["--table", "budget", "--placement", "registry"][..], "cannot be used with"),
        ("discovery", &["--world", "cluster"], "invalid value 'cluster'"),
        ("propagation", &["--table", "placements"], "invalid value 'placements'"),
    ] {
        let refused = run(lesson, args).assert().code(2).get_output().stderr.clone();
        let refused = String::from_utf8(refused).unwrap();
        assert!(refused.contains(sentence), "{refused}");
    }
}

fn values(lesson: &str, args: &[&str]) -> Value {
    serde_json::from_str(&printed(lesson, &[args, &["--output", "json"]].concat())).unwrap()
}

fn printed(lesson: &str, args: &[&str]) -> String {
    String::from_utf8(run(lesson, args).assert().success().get_output().stdout.clone()).unwrap()
}

fn run(lesson: &str, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.args(["lesson", lesson]).args(args);
    command
}
