//! The lesson "propagation", run as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;
use serde_json::{Value, json};

#[test]
fn the_lesson_needs_nothing_but_its_name() {
    let printed = printed(&[]);
    assert!(printed.starts_with("a check every 5s; 3 failures in a row eject, 2 successes in a row admit\n\n"));
    assert!(printed.contains("\n| None    | admit |"), "{printed}");
}

#[test]
fn a_profile_adds_what_the_vendor_says_and_what_is_simulated_is_the_closed_form() {
    let rows = values(&["--table", "delay"]);
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
    for row in values(&["--table", "devices"]).as_array().unwrap() {
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
    for row in values(&["--table", "preparing"]).as_array().unwrap() {
        assert_eq!(row["each_worst_s"], row["closed_form_worst_s"], "{row}");
        assert_eq!(row["each_mean_s"], row["closed_form_mean_s"], "{row}");
        assert!(row["nobody_serves_s"].as_f64() <= row["somebody_missing_s"].as_f64(), "{row}");
        assert_eq!(row["nobody_serves_s"].is_null(), row["profile"] == "None");
    }
}

#[test]
fn open_connections_last_until_they_end_by_themselves() {
    let rows = values(&["--table", "connections"]);
    for row in rows.as_array().unwrap() {
        assert_eq!(row["last_ends_s"], row["closed_form_last_ends_s"], "{row}");
    }
    assert_eq!(rows[2]["connections_last_s"], json!(600.0));
    assert_eq!(rows[2]["open_then"], json!(6_000));
    assert_eq!(rows[2]["last_ends_s"], json!(15.0 + 2.5 + 600.0));
}

#[test]
fn a_screen_shows_seconds_earlier_what_the_traffic_follows_and_a_changed_profile_counts_at_once() {
    let rows = "L4,22.00,bad,passing,in\n\
                L4,35.00,bad,failing,in\n\
                L4,39.00,bad,failing,out\n";
    let printed = printed(&["--table", "history", "--output", "csv"]);
    assert!(printed.contains(rows), "{printed}");
    assert!(printed.contains("\nL4,100.00,good,preparing,out\n"), "{printed}");
    assert!(printed.contains("\nNone,100.00,good,preparing,in\n"), "{printed}");
}

#[test]
fn a_policy_of_ones_own_says_how_replicas_are_checked() {
    let rows = values(&["--policy", "lessons/replicas/settings/plus-startup.yaml"]);
    assert_eq!(rows[0]["worst_s"], json!(2.0 + 2.5));
    assert_eq!(rows[0]["mean_s"], json!(1.0 + 1.25));
    let refused = lesson(&["--policy", "lessons/replicas/settings/no-probes.yaml"]).assert().code(2);
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("settings/no-probes.yaml: spec.readiness: must be there"), "{refused}");
}

#[test]
fn what_makes_no_sense_on_a_cluster_is_refused() {
    for (args, sentence) in [
        (&["--probes", "kubelet"][..], "--probes is for the cluster: add --world cluster, or leave it out"),
        (&["--world", "cluster", "--probes", "kubelet"], "--probes kubelet has no gate whose way to the traffic"),
        (&["--world", "cluster", "--table", "delay"], "--table prints a table of the model: leave out --world cluster"),
    ] {
        let refused = String::from_utf8(lesson(args).assert().code(2).get_output().stderr.clone()).unwrap();
        assert!(refused.contains(sentence), "{args:?}: {refused}");
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
    command.args(["lesson", "propagation"]).args(args);
    command
}
