//! The local world as a user runs it: real processes of the program itself.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn without_probes_nobody_is_restarted_and_requests_fail_on_those_who_start() {
    let mut program = Program::start(&["lesson", "replicas", "--setting", "no-probes", "--output", "json"]);
    let (printed, said) = program.output();
    let rows: serde_json::Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{said}"));
    let [model, measured] = ["model", "measured"].map(|figures| rows[0][figures].clone());
    assert_eq!(model["total_errors"], 1408);
    assert_eq!((&measured["restarts"], &measured["detection"]), (&0.into(), &serde_json::json!([])));
    assert!(measured["early_errors"].as_u64().unwrap() > 0, "{measured}");
    assert!(measured["total_errors"].as_u64() > measured["early_errors"].as_u64(), "{measured}");
    assert!(measured["truly_serving"].as_f64().unwrap() < 8.0, "{measured}");
}

#[test]
fn a_program_that_is_told_to_stop_says_so_and_leaves_no_process() {
    for signal in ["INT", "TERM"] {
        let mut program = Program::start(&["lesson", "replicas", "--setting", "plus-startup", "--speed", "1"]);
        let processes = program.processes(8);
        program.kill(signal);
        let (_, said) = program.output();
        assert!(said.contains("error: interrupted"), "{said}");
        assert_eq!(program.child.wait().unwrap().code(), Some(1));
        assert_eq!(processes.into_iter().filter(|pid| lives(*pid)).count(), 0);
    }
}

#[test]
fn a_program_that_is_killed_leaves_no_process() {
    let mut program = Program::start(&["lesson", "replicas", "--setting", "plus-startup", "--speed", "1"]);
    let processes = program.processes(8);
    program.kill("KILL");
    program.child.wait().unwrap();
    for pid in processes {
        until(|| !lives(pid));
    }
}

/// The program, while it runs.
struct Program {
    child: Child,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe-policy"));
        let child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    /// The processes it has started, once there are so many.
    fn processes(&mut self, number: usize) -> Vec<u32> {
        let mut found = Vec::new();
        until(|| {
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended: {:?}", self.output());
            found = children_of(self.child.id());
            found.len() >= number
        });
        found
    }

    fn kill(&self, signal: &str) {
        let kill = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// What it writes until it ends: to standard output, and to standard error.
    fn output(&mut self) -> (String, String) {
        let (mut printed, mut said) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (printed, said)
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

fn children_of(parent: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    processes.filter(|pid| status(*pid).is_some_and(|(_, of)| of == parent)).collect()
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
