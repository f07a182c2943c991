//! The lesson "depth": its tables as a user prints them, and what its text claims.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the lesson has failed")]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use probe_policy::api::{Duration, ParsedPolicy, ProbePolicySpec, read_policy, yaml};
use probe_policy::engine::{Phase, RuleKind, Time};
use probe_policy::model::{self, Run};
use probe_policy::scenario::{Fault, Lasting, ScenarioFile, Store};

const CONTENTS: [&str; 5] = ["shallow", "ready", "deep-local", "deep-shared", "deep-all"];

#[test]
fn the_published_tables_come_out_byte_for_byte_and_nothing_else() {
    for (table, published) in [
        ("content", include_str!("../lessons/depth/depth-content.csv")),
        ("interval", include_str!("../lessons/depth/depth-interval.csv")),
        ("load", include_str!("../lessons/depth/depth-load.csv")),
    ] {
        assert_eq!(printed(&["--table", table, "--output", "csv"]), published);
    }
}

#[test]
fn what_a_false_ejection_costs_comes_out_of_the_same_run() {
    assert_eq!(
        printed(&["--table", "false-ejection", "--output", "csv"]),
        "interval,false_ejections_per_month,requests_per_s,requests_per_s_meanwhile,times,capacity_lost_percent,at_most_s\n\
         1,13.3,171.30,256.94,1.50,33.3,2\n\
         2,6.7,171.30,256.94,1.50,33.3,4\n\
         4,0.0,171.30,256.94,1.50,33.3,8\n\
         8,0.0,171.30,256.94,1.50,33.3,16\n"
    );
}

#[test]
fn in_the_model_each_depth_is_described_before_its_figures() {
    let printed = printed(&["--world", "model"]);
    assert!(printed.starts_with("shallow: readiness asks /shallow, period 1 threshold 1\nready: "), "{printed}");
    assert!(printed.contains("\n| deep-local  |          58 |"), "{printed}");
}

#[test]
fn one_depth_alone_is_its_row() {
    let rows: serde_json::Value =
        serde_json::from_str(&printed(&["--world", "model", "--setting", "deep-shared", "--output", "json"])).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["content"], &rows[0]["vain_rejections"]), (&"deep-shared".into(), &88.into()));
}

#[test]
fn without_a_cluster_all_worlds_are_the_model_and_processes() {
    let mut command = lesson(&["--world", "all", "--setting", "shallow", "--speed", "20", "--output", "json"]);
    let ended = command.env("KUBECONFIG", "/nowhere").assert().success().get_output().clone();
    let rows: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let worlds: Vec<_> = rows[0]["measured"].as_array().unwrap().iter().map(|measured| &measured["world"]).collect();
    assert_eq!((rows.as_array().unwrap().len(), worlds), (1, vec![&"local".into()]));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("without a cluster: ") && said.contains("KUBECONFIG"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, sentence) in [
        (&["--table", "load", "--setting", "ready"][..], "--setting chooses among the settings"),
        (&["--table", "content", "--world", "local"], "--table prints a table of the model: leave out --world local"),
        (&["--table", "content", "--world", "all"], "--table prints a table of the model: leave out --world all"),
        (&["--image", "other"], "--image is for the cluster: add --world cluster, or leave it out"),
        (&["--speed", "1000"], "--speed 1000 is too fast for the setting shallow: spec.readiness.period: "),
    ] {
        let refused = lesson(args).assert().code(2).get_output().stderr.clone();
        let refused = String::from_utf8(refused).unwrap();
        assert!(refused.contains(sentence), "{refused}");
    }
}

#[test]
fn who_is_no_worse_off_than_its_neighbours_is_not_ejected_so_nothing_is_lost_in_vain() {
    let printed = printed(&["--table", "neighbours", "--output", "json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&printed).unwrap();
    for row in rows.iter().filter(|row| row["content"] == "deep-shared" || row["content"] == "deep-all") {
        let lost = ["vain_rejections", "dropped_reads", "silent_losses"].map(|column| row[column].as_u64());
        assert_eq!(lost, [Some(0); 3], "{row}");
    }
    assert_eq!(rows.len(), 5);
}

#[test]
fn no_content_of_an_endpoint_saves_what_a_shared_store_drops() {
    for (store, turns) in [(Store::State, 11), (Store::Billing, 11)] {
        let file = ScenarioFile { faults: vec![outage(store, 100, turns)], ..scenario() };
        for content in CONTENTS {
            let kinds = run(&file, &policy(content)).traffic.kinds;
            match store {
                Store::State => assert_eq!(kinds.write.dropped, 2 * u64::from(turns), "{content}"),
                Store::Billing => assert_eq!(kinds.batch.dropped, u64::from(turns), "{content}"),
            }
        }
    }
}

#[test]
fn a_question_that_every_replica_answers_alike_only_adds_losses() {
    for store in Store::ALL {
        let file = ScenarioFile { faults: vec![outage(store, 50, 20)], ..scenario() };
        let errors = |content| run(&file, &policy(content)).total_errors();
        let asks_for_it: &[&str] = match store {
            Store::State => &["deep-shared", "deep-all"],
            Store::Billing => &["deep-all"],
        };
        for content in CONTENTS {
            let expected = if asks_for_it.contains(&content) { 20 * (8 + 2 + 1) } else { errors("shallow") };
            assert_eq!(errors(content), expected, "{content}");
        }
    }
}

#[test]
fn load_is_linear_in_the_replicas_and_falls_with_the_interval() {
    let checks = |replicas, interval| {
        let mut file = ScenarioFile { turns: 128, faults: Vec::new(), ..scenario() };
        file.replicas.count = Some(replicas);
        run(&file, &every(interval, 1)).attempts[RuleKind::Readiness]
    };
    for replicas in [1, 3, 12, 48] {
        for interval in [1, 2, 4, 8] {
            assert_eq!(checks(replicas, interval), u64::from(replicas) * 128 / u64::from(interval));
        }
    }
}

/// Interval 4 and threshold 3: from the last check that passes to the one that ejects are 12 turns, so a fault of 12
/// turns is always found, and one of 11 may be over before anybody has noticed.
#[test]
fn interval_times_threshold_is_how_long_a_fault_may_go_unseen() {
    for (interval, threshold) in [(1, 1), (4, 1), (4, 3), (5, 2), (1, 6)] {
        let tolerance = interval * threshold;
        let ejections = |at, turns| {
            let stopped =
                yaml::from_str::<Vec<Fault>>("f", &format!("[{{replica: 1, at: {at}, stopped: {{for: {turns}}}}}]"));
            let file = ScenarioFile { faults: stopped.unwrap(), ..scenario() };
            run(&file, &every(interval, threshold)).ejections
        };
        let every_phase = 40..40 + interval;
        for at in every_phase.clone() {
            let seen = ejections(at, tolerance);
            assert_eq!(seen.len(), 1, "from {at} on");
            assert!(seen[0].turn < at + tolerance, "from {at} on");
        }
        let unseen = every_phase.filter(|at| tolerance > 1 && ejections(*at, tolerance - 1).is_empty());
        assert_eq!(unseen.count() > 0, tolerance > 1);
    }
}

fn printed(args: &[&str]) -> String {
    String::from_utf8(lesson(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn lesson(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.args(["lesson", "depth"]).args(args);
    command
}

fn run(file: &ScenarioFile, policy: &ParsedPolicy) -> Run {
    model::run(&file.check().unwrap(), policy).unwrap()
}

fn scenario() -> ScenarioFile {
    yaml::from_path(&folder().join("scenario.yaml")).unwrap()
}

fn policy(content: &str) -> ParsedPolicy {
    parsed(&spec(content))
}

/// By `deep-local`, every so many turns, with that failure threshold.
fn every(interval: u32, threshold: u32) -> ParsedPolicy {
    let mut spec = spec("deep-local");
    let readiness = spec.readiness.as_mut().unwrap();
    readiness.period = Duration::from_secs(2 * u64::from(interval));
    readiness.failure_threshold = threshold.try_into().unwrap();
    parsed(&spec)
}

fn spec(content: &str) -> ProbePolicySpec {
    read_policy(&folder().join(format!("settings/{content}.yaml"))).unwrap().spec
}

fn parsed(spec: &ProbePolicySpec) -> ParsedPolicy {
    spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap()
}

fn outage(store: Store, at: u32, turns: u32) -> Fault {
    let down = Lasting { turns: Some(turns), through: None };
    let file: Fault = yaml::from_str("f", &format!("{{store: {}, at: {at}}}", store.name())).unwrap();
    Fault { down: Some(down), ..file }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons/depth")
}
