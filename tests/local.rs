//! The local world as a user runs it: real processes of the program itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

#[test]
fn without_probes_nobody_is_restarted_and_requests_fail_on_those_who_start_or_are_stuck() {
    let files = Files::new("no-probes");
    files.scenario(60, "reopenings: [{replica: 0, at: 5}]\nfaults: [{replica: 1, at: 40, stuck: {}}]");
    files.replace("startup: 3", "startup: 30");
    files.policy("");
    let (figures, said) = files.lab(&["--speed", "5"]).figures();
    let measured = &figures["measured"];
    assert_eq!((&measured["restarts"], &figures["model"]["restarts"]), (&0.into(), &0.into()));
    assert!(measured["early_errors"].as_u64().unwrap() > 0, "{figures}");
    assert!(measured["total_errors"].as_u64() > measured["early_errors"].as_u64(), "{figures}");
    assert!(measured["truly_serving"].as_f64().unwrap() < 2.0, "{figures}");
    assert!(said.contains("r0   is starting") && said.contains("r1   is stuck"), "{said}");
}

#[test]
fn a_stuck_replica_is_ended_started_again_and_back_in_the_pool() {
    let files = Files::new("stuck");
    files.scenario(100_000, "faults: [{replica: 1, at: 5, stuck: {}}]");
    files.policy(
        "liveness: {httpGet: {port: http, path: /live}, period: 2s, failureThreshold: 2}
  readiness: {httpGet: {port: http, path: /ready}, period: 1s, failureThreshold: 1}",
    );
    let mut lab = files.lab(&["--speed", "2"]);
    let before = lab.processes(2);
    for told in ["r1   is stuck", "r1   Ejected: ", "r1   RestartDecided: ", "r1   Restarted: ", "r1   Admitted: "] {
        lab.until_it_says(told);
    }
    assert_ne!(lab.processes(2), before);
    lab.kill("INT");
    let (figures, said) = lab.figures();
    assert!(figures["measured"]["restarts"].as_u64().unwrap() >= 1, "{figures}");
    assert!(said.contains("error: stopped after "), "{said}");
}

#[test]
fn a_process_that_somebody_kills_is_started_again_and_was_not_restarted_by_us() {
    let files = Files::new("killed");
    files.scenario(100_000, "faults: [{replica: 1, at: 2, dependencyLost: {for: 1}}]");
    files.policy("readiness: {httpGet: {port: http, path: /ready}, period: 1s, failureThreshold: 1}");
    let mut lab = files.lab(&["--speed", "2"]);
    lab.until_it_says("r1   is dependency-lost");
    signal("KILL", lab.processes(2)[0]);
    lab.until_it_says("Ejected: the container is not running");
    lab.until_it_says("Admitted: ");
    lab.kill("INT");
    assert_eq!(lab.figures().0["measured"]["restarts"], 0);
}

#[test]
fn an_edit_is_in_force_at_once_and_after_an_invalid_one_what_was_before_still_is() {
    let files = Files::new("edits");
    let stuck: Vec<_> = (1..500).map(|n| format!("{{replica: 1, at: {}, stuck: {{}}}}", 20 * n)).collect();
    files.scenario(100_000, &format!("faults: [{}]", stuck.join(", ")));
    files.policy("liveness: {httpGet: {port: http, path: /live}, period: 1s, failureThreshold: 2}");
    let mut lab = files.lab(&["--speed", "5"]);
    lab.until_it_says("r1   Restarted: ");
    files.policy("liveness: {httpGet: {port: http, path: /live}, period: 1s, failureThreshold: 0}");
    let refusal = lab.until_it_says("; the last valid policy stays in force");
    let place = format!("{}:8:", files.path("policy.yaml").display());
    assert!(refusal.starts_with(&place) && refusal.contains(": spec.liveness.failureThreshold: "), "{refusal}");
    lab.until_it_says("r1   Restarted: the liveness rule failed 2 of 2 times in a row");
    files.policy("liveness: {httpGet: {port: http, path: /live}, period: 1s, failureThreshold: 3}");
    lab.until_it_says("policy.yaml: in force");
    lab.until_it_says("r1   Restarted: the liveness rule failed 3 of 3 times in a row");
    lab.kill("TERM");
    let (figures, _) = lab.figures();
    assert_eq!(figures["model"], Value::Null);
}

#[test]
fn a_replica_that_joins_starts_before_it_gets_requests() {
    let files = Files::new("joins");
    files.scenario(100_000, "");
    files.replace("startup: 3", "startup: 3, joins: {1: 4}");
    files.policy(
        "startup: {httpGet: {port: http, path: /started}, period: 1s, failureThreshold: 100}
  readiness: {httpGet: {port: http, path: /ready}, period: 1s, failureThreshold: 1}",
    );
    let mut lab = files.lab(&["--speed", "2"]);
    for told in ["r1   is stopped", "r1   is starting", "r1   Admitted: "] {
        lab.until_it_says(told);
    }
    lab.kill("INT");
    let (figures, said) = lab.figures();
    assert_eq!((&figures["measured"]["early_errors"], said.contains("Ejected")), (&0.into(), false), "{said}");
}

#[test]
fn every_process_knows_the_seed() {
    let files = Files::new("seed");
    files.scenario(100_000, "randomFaults: [{every: 10, dependencyLost: {for: 5}}]");
    files.policy("");
    let mut lab = files.lab(&["--seed", "4"]);
    let processes = lab.processes(2);
    assert!(processes.into_iter().all(|pid| arguments_of(pid).contains(&"--seed=4".to_owned())));
    lab.until_it_says("is dependency-lost");
}

#[test]
fn what_no_process_can_play_is_refused_before_anything_is_done() {
    let files = Files::new("refused");
    files.scenario(10, "");
    for (rule, speed, place) in [
        (
            "liveness: {httpGet: {port: http, path: /healthz}}",
            "1",
            "spec.liveness.httpGet.path: the scripted app has no",
        ),
        (
            "liveness: {httpGet: {port: http, path: /live}, period: 1s}",
            "1000",
            "spec.liveness.period: at speed 1000 it would be",
        ),
    ] {
        files.policy(rule);
        let mut lab = files.lab(&["--speed", speed]);
        let (_, said) = lab.output();
        assert!(said.contains("policy.yaml:8:") && said.contains(place), "{said}");
        assert_eq!(lab.child.wait().unwrap().code(), Some(2));
    }
    files.policy("");
    for (was, becomes, place) in [
        ("turn: 1s", "propagation: L7\nturn: 1s", "scenario.yaml:1:14: propagation: only the model knows"),
        ("count: 2", "count: 201", "scenario.yaml:4:11: replicas: 201 processes are too many for one machine"),
    ] {
        files.scenario(10, "");
        files.replace(was, becomes);
        let path = files.path("scenario.yaml").display().to_string();
        for arguments in [
            &["lab", &files.path("policy.yaml").display().to_string(), &path][..],
            &["lesson", "discovery", "--scenario", &path],
        ] {
            let mut program = Program::start(arguments);
            let (_, said) = program.output();
            assert!(said.contains(place), "{said}");
            assert_eq!(program.child.wait().unwrap().code(), Some(2));
        }
    }
}

#[test]
fn what_a_half_down_replica_accepted_is_missing_in_the_store() {
    let mut lesson = Program::start(&["lesson", "depth", "--setting", "ready", "--output", "json"]);
    let (rows, said) = lesson.figures();
    assert_eq!((&rows[0]["model"]["silent_losses"], &rows[0]["model"]["out_of_pool"]), (&17.into(), &32.into()));
    let measured = &rows[0]["measured"][0]["figures"];
    assert!(measured["silent_losses"].as_u64().unwrap() > 0, "{rows}{said}");
    assert!(measured["dropped_batch"].as_u64().unwrap() > 0, "{rows}{said}");
}

#[test]
fn a_list_that_nobody_changes_never_learns_and_a_registry_does() {
    let placements = ["static-list", "registry", "registry-graceful"];
    let run = |name| Program::start(&["lesson", "discovery", "--setting", name, "--speed", "1", "--output", "json"]);
    let measured = placements.map(run).map(|mut lesson| {
        let (rows, said) = lesson.figures();
        assert!(rows[0]["model"].is_object(), "{said}");
        rows[0]["measured"][0]["figures"].clone()
    });
    let of = |column: &str| measured.each_ref().map(|row| row[column].as_u64());
    let [window, _, _] = of("detection_window_ms");
    let [_, dead, dead_graceful] = of("to_dead_address");
    let [new, new_registry, new_graceful] = of("to_new_replica");
    assert_eq!((window, new), (None, Some(0)));
    assert!(dead > dead_graceful && new_registry > Some(0) && new_graceful > Some(0), "{measured:?}");
}

#[test]
fn a_program_that_is_told_to_stop_says_so_and_leaves_no_process() {
    for name in ["INT", "TERM"] {
        let mut program = Program::start(DEPTH);
        let processes = program.processes(4);
        program.kill(name);
        let (_, said) = program.output();
        assert!(said.contains("error: interrupted"), "{said}");
        assert_eq!(program.child.wait().unwrap().code(), Some(1));
        assert_eq!(processes.into_iter().filter(|pid| lives(*pid)).count(), 0);
    }
}

#[test]
fn a_program_that_is_killed_leaves_no_process() {
    for (lesson, processes) in [(DEPTH, 4), (DISCOVERY, 5)] {
        let mut program = Program::start(lesson);
        let processes = program.processes(processes);
        program.kill("KILL");
        program.child.wait().unwrap();
        for pid in processes {
            until(|| !lives(pid));
        }
    }
}

#[test]
fn a_program_whose_stores_or_registry_end_says_so_and_leaves_no_process() {
    for (lesson, processes, role) in [(DEPTH, 4, "store"), (DISCOVERY, 5, "registry")] {
        let mut program = Program::start(lesson);
        let processes = program.processes(processes);
        let is_it = |pid: &&u32| arguments_of(**pid).get(2).is_some_and(|argument| argument == role);
        signal("KILL", *processes.iter().find(is_it).unwrap());
        let (_, said) = program.output();
        assert!(said.contains(&format!("the process {role}")) && said.contains("failed"), "{said}");
        assert_eq!(program.child.wait().unwrap().code(), Some(1));
        assert_eq!(processes.into_iter().filter(|pid| lives(*pid)).count(), 0);
    }
}

/// Three replicas and the shared stores, for four minutes.
const DEPTH: &[&str] = &["lesson", "depth", "--setting", "ready", "--speed", "1"];
/// Four replicas and the registry, for eleven seconds.
const DISCOVERY: &[&str] = &["lesson", "discovery", "--setting", "registry", "--speed", "1"];

/// A policy and a scenario in a folder of their own.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("local-{name}"));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Two replicas that start for three turns, and what happens to them.
    fn scenario(&self, turns: u32, events: &str) {
        let text =
            format!("turn: 1s\nturns: {turns}\nrequestsPerTurn: 4\nreplicas: {{count: 2, startup: 3}}\n{events}\n");
        fs::write(self.path("scenario.yaml"), text).unwrap();
    }

    /// The same scenario with something else in it.
    fn replace(&self, was: &str, becomes: &str) {
        let text = fs::read_to_string(self.path("scenario.yaml")).unwrap();
        fs::write(self.path("scenario.yaml"), text.replace(was, becomes)).unwrap();
    }

    /// A policy with this in line 8.
    fn policy(&self, rules: &str) {
        let text = format!(
            "apiVersion: probepolicy.dev/v1alpha1
kind: ProbePolicy
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  mode: Enforce
  restart: {{backoff: {{initial: 0s}}, gracePeriod: 1s}}
  {rules}
"
        );
        fs::write(self.path("policy.yaml"), text).unwrap();
    }

    fn lab(&self, options: &[&str]) -> Program {
        let files = ["policy.yaml", "scenario.yaml"].map(|name| self.path(name).display().to_string());
        let arguments = [&["lab", &files[0], &files[1], "--output", "json"], options].concat();
        Program::start(&arguments)
    }
}

/// The program, while it runs.
struct Program {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe-policy"));
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, said: String::new() }
    }

    /// The processes it has started, once there are so many.
    fn processes(&self, number: usize) -> Vec<u32> {
        let mut found = Vec::new();
        until(|| {
            assert!(lives(self.child.id()), "it has ended");
            found = children_of(self.child.id());
            found.len() == number
        });
        found
    }

    /// The next line on standard error with this in it.
    fn until_it_says(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "no {text:?} in:\n{}", self.said);
            self.said += &line;
            if line.contains(text) {
                return line.trim_end().to_owned();
            }
        }
    }

    fn kill(&self, name: &str) {
        signal(name, self.child.id());
    }

    /// What it writes until it ends: to standard output, and to standard error.
    fn output(&mut self) -> (String, String) {
        let mut printed = String::new();
        self.stderr.read_to_string(&mut self.said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (printed, self.said.clone())
    }

    /// The figures that it prints at the end, and what it said meanwhile.
    fn figures(&mut self) -> (Value, String) {
        let (printed, said) = self.output();
        (serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{said}")), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits as long as it takes.
fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| status(*pid).is_some_and(|(state, of)| of == parent && state != 'Z');
    processes.filter(is_child).collect()
}

/// What a process was started with.
fn arguments_of(pid: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split('\0').map(str::to_owned).collect()
}

/// Whether a process is there; one that only waits for its parent to look is not.
fn lives(pid: u32) -> bool {
    status(pid).is_some_and(|(state, _)| state != 'Z')
}

/// The state of a process and its parent.
fn status(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
