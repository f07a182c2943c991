//! The lesson, run as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;

#[test]
fn the_published_tables_come_out_byte_for_byte_and_nothing_else() {
    for (table, published) in [
        ("settings", include_str!("../lessons/replicas/replicas-settings.csv")),
        ("sweep", include_str!("../lessons/replicas/replicas-sweep.csv")),
    ] {
        let printed = lesson(&["--table", table, "--output", "csv"]).assert().success().get_output().stdout.clone();
        assert_eq!(String::from_utf8(printed).unwrap(), published);
    }
}

#[test]
fn in_the_model_each_setting_is_described_before_its_figures() {
    let printed = lesson(&["--world", "model"]).assert().success().get_output().stdout.clone();
    let printed = String::from_utf8(printed).unwrap();
    assert!(printed.contains("\nplus startup: startup period 5 threshold 6; liveness period 5"), "{printed}");
    assert!(printed.contains("\n| no probes            |        0 |"), "{printed}");
}

#[test]
fn a_setting_alone_is_its_row_at_any_speed() {
    let args = ["--world", "model", "--setting", "plus-startup", "--speed", "7", "--output", "json"];
    let printed = lesson(&args).assert().success().get_output().stdout.clone();
    let rows: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["setting"], "plus startup");
    assert_eq!(rows[0]["detection"], serde_json::json!([10.0, 10.0]));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_done() {
    for (args, sentence) in [
        (&["--probes", "kubelet"][..], "--probes is for the cluster: add --world cluster, or leave it out"),
        (&["--world", "cluster", "--table", "sweep"], "--table prints a table of the model: leave out --world cluster"),
        (&["--world", "local", "--table", "settings"], "--table prints a table of the model: leave out --world local"),
        (&["--world", "model", "--runs", "3"], "--runs is for what is measured"),
        (&["--table", "sweep", "--setting", "no-probes"], "--setting chooses among the settings"),
        (&["--world", "cluster", "--probes", "kubelet", "--speed", "2"], "--probes kubelet runs at speed 1 only"),
        (&["--world", "cluster", "--speed", "500"], "--speed 500 is too fast for the setting one combined probe"),
        (&["--speed", "500"], "--speed 500 is too fast for the setting one combined probe: spec.liveness.timeout: "),
        (&["--speed", "0"], "a speed is a whole number from 1 to 1000"),
    ] {
        let refused = lesson(args).assert().code(2).get_output().stderr.clone();
        let refused = String::from_utf8(refused).unwrap();
        assert!(refused.contains(sentence), "{args:?}: {refused}");
    }
}

#[test]
fn without_a_cluster_there_is_one_sentence() {
    let mut command = lesson(&["--world", "cluster", "--probes", "kubelet"]);
    let refused = command.env("KUBECONFIG", "/nowhere").assert().code(1).get_output().stderr.clone();
    let refused = String::from_utf8(refused).unwrap();
    assert!(refused.contains("KUBECONFIG"), "{refused}");
}

fn lesson(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.args(["lesson", "replicas"]).args(args);
    command
}
