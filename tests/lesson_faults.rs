//! The lesson "faults", run as a user runs it. Its table for people is in `docs/faults.md`, and compared there.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;
use serde_json::{Value, json};

#[test]
fn a_rule_alone_is_its_row_with_every_figure_by_itself() {
    let row = json!([{
        "fault": "a store that only readiness asks is down",
        "rule": "floor",
        "without": {"restarts": 0, "unnecessary": 0, "ejections": 8, "total_errors": 1500, "truly_serving": 8.0},
        "with": {"restarts": 0, "unnecessary": 0, "ejections": 0, "total_errors": 0, "truly_serving": 8.0},
        "kubelet": {"restarts": 0, "unnecessary": 0, "ejections": 8, "total_errors": 1500, "truly_serving": 8.0},
    }]);
    assert_eq!(serde_json::from_str::<Value>(&printed(&["--rule", "floor", "--output", "json"])).unwrap(), row);
    let csv = printed(&["--rule", "floor", "--rule", "breaker", "--output", "csv"]);
    let rows: Vec<_> = csv.lines().collect();
    assert!(rows[0].starts_with("fault,rule,restarts_without,restarts_with,restarts_kubelet,unnecessary_without,"));
    assert!(rows[1].ends_with(",floor,0,0,0,0,0,0,8,0,8,1500,0,1500,8.00,8.00,8.00"), "{csv}");
    assert!(rows[2].contains(",breaker,24,1,16,24,1,16,"), "{csv}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, sentence) in [
        (&["--image", "fake"][..], "--image is for the cluster: add --world cluster, or leave it out"),
        (&["--world", "cluster", "--probes", "own"], "this lesson compares who probes: leave out --probes"),
        (
            &["--world", "cluster", "--rule", "node"],
            "the scenario of the rule node cuts the path to a node, which only",
        ),
    ] {
        let refused = String::from_utf8(lesson(args).assert().code(2).get_output().stderr.clone()).unwrap();
        assert!(refused.contains(sentence), "{args:?}: {refused}");
    }
}

fn printed(args: &[&str]) -> String {
    String::from_utf8(lesson(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn lesson(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.args(["lesson", "faults"]).args(args);
    command
}
