//! Simulating and sweeping, as a user does it.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::Command;
use serde_json::Value;

const POLICY: &str = "lessons/replicas/settings/plus-startup.yaml";
const WORSE: &str = "lessons/replicas/settings/liveness-readiness.yaml";
const SCENARIO: &str = "lessons/replicas/scenario.yaml";

#[test]
fn a_simulation_of_the_lesson_gives_the_lessons_figures() {
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--output", "csv"]);
    let header =
        "policy,restarts,unnecessary,killed_in_startup,in_loop,early_errors,total_errors,truly_serving,detection,";
    assert!(printed.starts_with(header), "{printed}");
    assert!(printed.contains(&format!("\n{POLICY},2,0,0,0,0,0,7.39,10 10,0,4,")), "{printed}");
    let printed = stdout(&["simulate", POLICY, SCENARIO]);
    assert!(printed.starts_with("| policy "), "{printed}");
}

#[test]
fn two_policies_stand_beside_each_other_with_what_differs() {
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--compare", WORSE, "--output", "csv"]);
    let rows: Vec<_> = printed.lines().skip(1).collect();
    assert!(rows[2].starts_with("difference,+20,+20,+20,+2,0,0,-1.50,0.00 0.00,0,0,"), "{printed}");
    assert!(rows[0].starts_with(POLICY) && rows[1].starts_with(WORSE), "{printed}");
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--compare", WORSE]);
    let parting = "Their decisions first part in turn 30.\nOnly lessons/replicas/settings/liveness-readiness.yaml: replica 6: \
                   RestartDecided: the liveness rule failed 3 of 3 times in a row, last: status 503.\n";
    assert!(printed.contains(parting), "{printed}");
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--compare", POLICY]);
    assert!(printed.starts_with("Both decide the same.\n"), "{printed}");
}

#[test]
fn under_the_kubelet_a_policy_is_without_what_no_probe_can_say() {
    let [policy, scenario] = ["with", "scenario"].map(|file| format!("lessons/faults/heartbeat/{file}.yaml"));
    let printed = stdout(&["simulate", &policy, &scenario, "--kubelet"]);
    let remark = format!("\n{policy} under the kubelet is without what no probe can say: spec.heartbeat.\n");
    assert!(printed.contains(&remark), "{printed}");
    let printed = stdout(&["simulate", &policy, &scenario, "--kubelet", "--output", "csv"]);
    let errors: Vec<_> = printed.lines().skip(1).map(|row| row.split(',').nth(6).unwrap()).collect();
    assert_eq!(errors, ["72", "108", "+36"], "{printed}");
}

#[test]
fn a_trace_tells_every_attempt_every_decision_and_every_turn() {
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--trace"]);
    for line in [
        "turn 80 (1m20s): replica 1: liveness asks /live: no response, 1 in a row (it is stuck)\n",
        "turn 80 (1m20s): replica 1: Ejected: the readiness rule failed 1 of 1 times in a row, last: no response (it is stuck)\n",
        "turn 90 (1m30s): replica 1: Restarted: the liveness rule failed 3 of 3 times in a row, last: no response (it is stuck)\n",
        "turn 90 (1m30s): replica 1 is opened: restart\n",
        "turn 100 (1m40s): 7 in the pool; of 50 requests 0 fail\n",
    ] {
        assert!(printed.contains(line), "no {line} in\n{printed}");
    }
    assert!(printed.contains("\n\n| policy "), "no figures after the trace");
}

#[test]
fn a_trace_in_json_counts_what_the_figures_count() {
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--trace=jsonl"]);
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |event: &'static str| lines.iter().filter(move |line| line["event"] == event);
    let figures = &of("figures").next().unwrap()["figures"][0];
    assert_eq!(figures["attempts"], of("attempt").count());
    assert_eq!(figures["restarts"], of("decision").filter(|line| line["decision"] == "Restarted").count());
    assert_eq!(of("turn").count(), 180);
    let failed: u64 = of("turn").map(|line| line["failed"].as_u64().unwrap()).sum();
    assert_eq!(figures["total_errors"], failed);
}

#[test]
fn a_trace_is_not_mixed_with_other_forms() {
    let refused = stderr(&["simulate", POLICY, SCENARIO, "--trace", "--output", "json"], 2);
    assert!(refused.contains("name a file for the rest with --output-file"), "{refused}");
    let file = folder("trace").join("figures.json");
    stdout(&["simulate", POLICY, SCENARIO, "--trace", "--output", "json", "--output-file", file.to_str().unwrap()]);
    let figures: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(figures[0]["restarts"], 2);
    let refused = stderr(&["simulate", POLICY, SCENARIO, "--trace", "--compare", WORSE], 2);
    assert!(refused.contains("cannot be used with"), "{refused}");
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_another() {
    let chance =
        edited("chance", SCENARIO, "faults:", "startupJitter: 9\nrandomFaults: [{stuck: {}, every: 100}]\nfaults:");
    let trace = |seed: &str| stdout(&["simulate", POLICY, chance.to_str().unwrap(), "--trace", "--seed", seed]);
    let first = trace("7");
    assert_eq!(first, trace("7"));
    assert_ne!(first, trace("8"));
    assert!(first.contains("\nSeed 7.\n"), "no word of the seed");
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--seed", "7"]);
    assert!(printed.starts_with("The scenario leaves nothing to chance, so --seed changes nothing.\n"), "{printed}");
}

#[test]
fn a_policy_that_only_observes_says_so() {
    let policy = edited("observes", POLICY, "mode: Enforce", "mode: Observe");
    let printed = stdout(&["simulate", policy.to_str().unwrap(), SCENARIO]);
    assert!(printed.contains("only observes: it restarts nobody and ejects nobody.\n"), "{printed}");
    let told =
        "Enforced, it would have restarted 2 (0 of them starting), ejected 6 and admitted 4, 0 of that in a shared";
    assert!(printed.contains(told), "{printed}");
}

/// The published sweep, with the startup rule, swept by the tool.
#[test]
fn a_sweep_gives_the_lessons_sweep() {
    let vary = ["--vary", "liveness.period=2s,5s,10s", "--vary", "liveness.failureThreshold=2,3,6"];
    let printed = stdout(&[&["sweep", POLICY, SCENARIO, "--output", "json"][..], &vary].concat());
    let rows: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let published =
        include_str!("../lessons/replicas/replicas-sweep.csv").lines().filter(|row| row.starts_with("period"));
    let mut compared = 0;
    for (row, published) in rows.iter().zip(published) {
        let cells: Vec<_> = published.split(',').collect();
        assert_eq!(row["policy"]["liveness.period"], format!("{}s", cells[1]));
        assert_eq!(row["policy"]["liveness.failureThreshold"], cells[2]);
        assert_eq!(row["killed_in_startup"].to_string(), cells[5]);
        assert_eq!(format!("{:.2}", row["truly_serving"].as_f64().unwrap()), cells[7]);
        let detection: Vec<_> =
            row["detection"].as_array().unwrap().iter().map(|turns| turns.as_f64().unwrap()).collect();
        assert_eq!(detection, cells[4].split(' ').map(|turns| turns.parse().unwrap()).collect::<Vec<f64>>());
        compared += 1;
    }
    assert_eq!((compared, rows.len()), (9, 9));
    let on_front: Vec<_> =
        rows.iter().filter(|row| row["pareto"] == true).map(|row| row["policy"].to_string()).collect();
    assert_eq!(on_front, [r#"{"liveness.failureThreshold":"2","liveness.period":"2s"}"#]);
}

#[test]
fn a_sweep_of_many_policies_has_its_rows_in_order() {
    let vary = ["--vary", "liveness.failureThreshold=1..40", "--vary", "startup.period=1s..5s/1s"];
    let printed = stdout(&[&["sweep", POLICY, &short_scenario(), "--output", "csv"][..], &vary].concat());
    let varied: Vec<_> =
        printed.lines().skip(1).map(|row| row.split(',').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected: Vec<_> =
        (1..=40).flat_map(|threshold| (1..=5).map(move |period| format!("{threshold} {period}s"))).collect();
    assert_eq!(varied, expected);
}

#[test]
fn a_sweep_that_makes_no_sense_is_refused_before_anything_is_run() {
    for (vary, sentence) in [
        ("liveness.perod=2s", "liveness.perod: holds no number and no duration of a policy"),
        ("mode=1", "mode: holds no number and no duration of a policy"),
        ("liveness.period", "must be a field, = and its values, such as liveness.period=2s,5s,10s"),
        ("liveness.period=2s..8s", "2s..8s needs a step, such as 2s..8s/1s"),
        ("liveness.period=2", "liveness.period: 2: must be a duration"),
        ("liveness.failureThreshold=2s", "liveness.failureThreshold: 2s: must be a whole number"),
        ("liveness.failureThreshold=0..3", "with liveness.failureThreshold=0: spec.liveness.failureThreshold: must be"),
        ("liveness.period=2500ms", "with liveness.period=2500ms: spec.liveness.period: 2s500ms is no whole number"),
    ] {
        let refused = stderr(&["sweep", POLICY, SCENARIO, "--vary", vary], 2);
        assert!(refused.contains(sentence), "{vary}: {refused}");
    }
    let refused = stderr(&["sweep", WORSE, SCENARIO, "--vary", "startup.period=2s"], 2);
    assert_eq!(refused, "error: startup.period: the policy has no startup\n");
    let refused = stderr(&["sweep", POLICY, SCENARIO], 2);
    assert!(refused.contains("--vary <FIELD=VALUES>"), "{refused}");
}

#[test]
fn a_sweep_that_is_interrupted_prints_what_is_done_and_says_how_much_is_missing() {
    let sweep = ["sweep", POLICY, SCENARIO, "--vary", "liveness.failureThreshold=1..10000", "--output", "csv"];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_probe-policy"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(sweep).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    let pid = running.id().to_string();
    while !hears_interrupts(&pid) {
        std::thread::yield_now();
    }
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let done = String::from_utf8(output.stdout).unwrap().lines().skip(1).count();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("error: stopped: {} of 10000 policies are missing\n", 10_000 - done));
}

#[test]
fn files_that_make_no_sense_are_refused_with_their_place() {
    let fault = edited("bad-fault", SCENARIO, "{replica: 1, at: 80", "{replica: 9, at: 80");
    let endpoint = edited("bad-endpoint", POLICY, "/live}", "/lively}");
    let period = edited("bad-period", POLICY, "period: 2s", "period: 2500ms");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (policy, scenario, sentence) in [
        (POLICY.to_owned(), text(&fault), ":17:15: faults[1].replica: there is no replica 9, only 0 to 7"),
        (text(&endpoint), SCENARIO.to_owned(), "spec.liveness.httpGet.path: the scripted app has no endpoint /lively"),
        (text(&period), SCENARIO.to_owned(), "spec.readiness.period: 2s500ms is no whole number"),
        ("/nowhere.yaml".to_owned(), SCENARIO.to_owned(), "/nowhere.yaml: cannot be read: No such file"),
        (short_scenario(), SCENARIO.to_owned(), "unknown field `turn`"),
        (POLICY.to_owned(), "/dev/zero".to_owned(), "/dev/zero: larger than 16 MiB"),
        (POLICY.to_owned(), "Cargo.lock".to_owned(), "Cargo.lock:"),
    ] {
        let refused = stderr(&["simulate", &policy, &scenario], 2);
        assert!(refused.contains(sentence), "{policy} {scenario}: {refused}");
        let refused = stderr(&["sweep", &policy, &scenario, "--vary", "liveness.period=2s"], 2);
        assert!(refused.contains(sentence), "{policy} {scenario}: {refused}");
    }
    let refused = stderr(&["simulate", POLICY, SCENARIO, "--compare", endpoint.to_str().unwrap()], 2);
    assert!(
        refused.contains("bad-endpoint.yaml:9:43: spec.liveness.httpGet.path: the scripted app has no"),
        "{refused}"
    );
}

#[test]
fn a_file_that_cannot_be_written_loses_nothing_that_is_printed() {
    for file in ["/nowhere/figures.csv", "/dev/full", "/"] {
        let mut command = program(&["simulate", POLICY, SCENARIO, "--output", "csv", "--output-file", file]);
        let output = command.assert().code(1).get_output().clone();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains("|        2 |           0 |"), "{printed}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.starts_with(&format!("error: {file}: cannot be written: ")) && said.lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn a_file_holds_what_would_have_been_printed() {
    let file = folder("file").join("figures.csv");
    let printed = stdout(&["simulate", POLICY, SCENARIO, "--output", "csv", "--output-file", file.to_str().unwrap()]);
    assert!(printed.starts_with("| policy "), "{printed}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), stdout(&["simulate", POLICY, SCENARIO, "--output", "csv"]));
}

#[test]
fn a_page_of_a_large_fleet_leaves_out_those_to_whom_nothing_happens_and_says_so() {
    let file = folder("large").join("scenario.yaml");
    let scenario = "{turn: 1s, turns: 9, requestsPerTurn: 1, replicas: {count: 5000, startup: 1}, \
                    faults: [{replica: 7, at: 3, stuck: {}}, {replica: 9, at: 3, dependencyLost: {for: 2}}]}";
    std::fs::write(&file, scenario).unwrap();
    let page = stdout(&["simulate", POLICY, file.to_str().unwrap(), "--output", "html"]);
    assert!(page.contains("<p>Nothing happened to 4998 replicas: 0 to 6, 8, 10 to 4999.</p>"), "no word of it");
    assert_eq!(page.matches("role=\"img\" aria-label=\"replica ").count(), 2);
    assert!(page.len() < 50_000, "{} bytes", page.len());
}

#[test]
fn of_a_large_sweep_people_see_the_front_and_programs_everything() {
    let sweep = |scenario: &str, vary: &str, form: &str| {
        let vary = format!("liveness.failureThreshold={vary}");
        stdout(&["sweep", POLICY, scenario, "--vary", &vary, "--output", form])
    };
    let (all, front) = (sweep(SCENARIO, "2..201", "table"), sweep(SCENARIO, "2..202", "table"));
    let rows = |table: &str| table.lines().skip_while(|line| !line.starts_with("|-")).count() - 1;
    assert_eq!((rows(&all), rows(&front)), (200, 1));
    assert!(!all.contains("Shown is only"), "{all}");
    assert!(front.contains("Shown is only the front; --output csv and json have all 201."), "{front}");
    assert_eq!(sweep(SCENARIO, "2..202", "csv").lines().count(), 202);
    assert_eq!(serde_json::from_str::<Vec<Value>>(&sweep(SCENARIO, "2..202", "json")).unwrap().len(), 201);
    let page = sweep(&short_scenario(), "1..5001", "html");
    assert!(page.contains("Shown is only the first 5000 of the 5001 on the front;"), "no word of it");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sweep = format!(
        "{} sweep {POLICY} {} --vary liveness.failureThreshold=1..5000 --output csv | head -n 1; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_probe-policy"),
        short_scenario()
    );
    let mut shell = Command::new("bash");
    let output =
        shell.current_dir(env!("CARGO_MANIFEST_DIR")).args(["-c", &sweep]).assert().success().get_output().clone();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(String::from_utf8(output.stdout).unwrap().ends_with(",pareto\n0\n"));
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(program(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn stderr(args: &[&str], code: i32) -> String {
    let output = program(args).assert().code(code).get_output().clone();
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("probe-policy").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    command
}

/// A copy of a file of the lesson with something else in it.
fn edited(name: &str, file: &str, old: &str, new: &str) -> PathBuf {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    assert!(text.contains(old), "{file} does not say {old}");
    let copy = folder("edited").join(format!("{name}.yaml"));
    std::fs::write(&copy, text.replace(old, new)).unwrap();
    copy
}

/// Whether a process has a handler for the second signal, SIGINT.
fn hears_interrupts(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 1 != 0
}

/// A scenario in which next to nothing happens, so that many policies are run in no time.
fn short_scenario() -> String {
    let file = folder("short").join("scenario.yaml");
    std::fs::write(&file, "{turn: 1s, turns: 1, requestsPerTurn: 1, replicas: {count: 1, startup: 1}}").unwrap();
    file.to_str().unwrap().to_owned()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
