//! Scenario files that make no sense, given to the program as a user gives them: exit code 2, one sentence with its
//! place, and nothing on standard output.
#![expect(clippy::unwrap_used, reason = "a test that cannot write its files has failed")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use assert_cmd::Command;

const POLICY: &str = "lessons/depth/settings/ready.yaml";

const GOOD: &str = "
turn: 2s
turns: 20
requestsPerTurn: 5
replicas: {count: 2, startup: 0}
faults: [{replica: 0, at: 3, silent: {for: 2}}]
";

#[test]
fn a_good_one_is_taken() {
    simulate(&file("good", GOOD)).assert().success();
}

#[test]
fn what_makes_no_sense_has_its_line_its_column_and_its_field() {
    for (name, old, new, refusal) in [
        ("past-the-end", "at: 3", "at: 20", "6:27: faults[0].at: there is no turn 20, only 0 to 19"),
        ("no-replica", "replica: 0", "replica: 2", "6:20: faults[0].replica: there is no replica 2, only 0 to 1"),
        ("no-end", "{for: 2}", "{}", "6:38: faults[0].silent: say when it ends"),
        ("backwards", "{for: 2}", "{through: 2}", "6:48: faults[0].silent.through: the fault ends in turn 2, before"),
        ("negative", "at: 3", "at: -3", "6:27: faults[0].at: must be a whole number from 0 to 4294967295"),
        ("fraction", "turns: 20", "turns: 2.5", "3:8: turns: must be a whole number from 0 to 4294967295"),
        ("unknown", "silent", "quiet", "6:30: faults[0].quiet: unknown field `quiet`, expected one of replica"),
        ("list", "{count: 2, startup: 0}", "[0, 0]", "5:11: replicas: must be a mapping of names to values"),
        ("no-list", "[{replica: 0, at: 3, silent: {for: 2}}]", "{}", "6:9: faults: must be a list"),
        ("zero", "turns: 20", "turns: 20\nconsumers: 0", "4:1: consumers: must be a whole number from 1 to 4294967295"),
        ("twice", "turns: 20", "turns: 20\nturns: 20", "4:1: `turns` is here for the second time"),
        ("no-yaml", "turns: 20", "turns: [20", ""),
    ] {
        let file = file(name, &GOOD.replace(old, new));
        let said = refused(&file);
        assert!(said.starts_with(&format!("error: {}:{refusal}", file.display())), "{name}: {said}");
    }
}

#[test]
fn two_faults_that_contradict_each_other_are_refused() {
    let twice = GOOD.replace("faults: [", "faults: [{replica: 0, at: 3, silent: {for: 9}}, ");
    let said = refused(&file("contradiction", &twice));
    assert!(said.contains(":6:49: faults[1]: contradicts an earlier fault of that kind"), "{said}");
}

#[test]
fn a_file_that_nobody_can_mean_is_refused_at_once() {
    let huge = folder().join("huge.yaml");
    File::create(&huge).unwrap().set_len(100 << 20).unwrap();
    let deep = format!("turn: {}", "[".repeat(100_000));
    let binary = folder().join("binary.yaml");
    fs::write(&binary, [0xff, 0xfe, 0, 1]).unwrap();
    for (file, sentence) in [
        (huge, "larger than 16 MiB"),
        (file("deep", &deep), ":1:"),
        (binary, "cannot be read"),
        (file("empty", ""), "the file ends here, but something is missing"),
        (file("text", "just some text\n"), ":1:1: "),
        (folder().join("missing.yaml"), "cannot be read"),
        (folder(), "cannot be read"),
    ] {
        let said = refused(&file);
        assert!(said.contains(sentence) && said.len() < 600, "{said}");
    }
}

#[test]
fn a_policy_that_does_not_fit_the_scenario_is_refused() {
    let scenario = file("turn-of-3s", &GOOD.replace("turn: 2s", "turn: 3s"));
    let said = refused(&scenario);
    assert!(said.contains("spec.readiness.period: 2s is no whole number of the scenario's turns of 3s"), "{said}");

    let policy = fs::read_to_string(root().join(POLICY)).unwrap().replace("/ready", "/healthz");
    let (policy, scenario) = (file("healthz", &policy), file("good-again", GOOD));
    let refused = program().arg("simulate").args([&policy, &scenario]).assert().code(2).get_output().stderr.clone();
    let said = String::from_utf8(refused).unwrap();
    assert!(
        said.contains("spec.readiness.httpGet.path: the scripted app has no endpoint /healthz; it has /started,"),
        "{said}"
    );
}

fn refused(scenario: &Path) -> String {
    let refused = simulate(scenario).assert().code(2).stdout("").get_output().stderr.clone();
    String::from_utf8(refused).unwrap()
}

fn simulate(scenario: &Path) -> Command {
    let mut command = program();
    command.arg("simulate").arg(root().join(POLICY)).arg(scenario);
    command
}

fn program() -> Command {
    Command::cargo_bin("probe-policy").unwrap()
}

fn file(name: &str, text: &str) -> PathBuf {
    let file = folder().join(format!("{name}.yaml"));
    fs::write(&file, text).unwrap();
    file
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenario-files");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
