//! The fake app as real processes on real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its processes has failed")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use probe_policy::fake_app::load::{Line, Outcome, RequestLine, Summary, TruthLine};
use probe_policy::fake_app::{Truth, Write};
use probe_policy::scenario::{Opening, RequestKind, ScenarioFile, TrueState};

#[test]
fn a_warm_replica_passes_every_probe_and_serves() {
    let app = App::serve(FOREVER, 0, in_hours(1));
    assert_eq!(app.statuses(), [200, 200, 200, 200]);
}

#[test]
fn a_starting_replica_passes_no_probe_and_serves_nothing() {
    let app = App::serve(FOREVER, 0, in_hours(-1));
    assert_eq!(app.statuses(), [503, 503, 503, 503]);
    assert_eq!(app.truth().state, TrueState::Starting);
}

#[test]
fn a_replica_without_its_dependency_lives_but_is_not_ready() {
    let app = App::serve(FOREVER, 1, in_hours(-1));
    assert_eq!(app.statuses(), [200, 200, 503, 503]);
    let (status, body) = app.get("/request").unwrap();
    let truth: Truth = serde_json::from_str(&body).unwrap();
    assert_eq!((status, truth.replica, truth.state), (503, 1, TrueState::DependencyLost));
}

#[test]
fn a_stuck_replica_accepts_and_answers_nothing_but_the_truth_and_ignores_sigterm() {
    let mut app = App::serve(SOON, 0, Timestamp::now());
    app.until(TrueState::Stuck);
    let asked_before = app.send("/live").unwrap();
    app.terminate();
    for path in ["/started", "/ready", "/request"] {
        assert!(is_silent(app.send(path).unwrap()), "{path}");
    }
    assert!(is_silent(asked_before));
    assert_eq!(app.truth().state, TrueState::Stuck);
    assert_eq!(app.child.try_wait().unwrap(), None);
}

#[test]
fn a_restart_heals_a_stuck_replica() {
    let start = Timestamp::now();
    App::serve(SOON, 0, start).until(TrueState::Stuck);
    App::serve(SOON, 0, start).until(TrueState::Healthy);
}

#[test]
fn sigterm_ends_a_replica_that_is_not_stuck() {
    let mut app = App::serve(FOREVER, 0, in_hours(-1));
    app.terminate();
    assert_eq!(app.exit().code(), Some(0));
}

#[test]
fn a_planned_reopening_ends_the_process_once_and_well() {
    let start = Timestamp::now();
    let mut app = App::serve(SOON, 1, start);
    assert_eq!(app.exit().code(), Some(0));
    let again = App::serve(SOON, 1, start);
    assert_eq!(again.truth().state, TrueState::Starting);
    again.until(TrueState::Healthy);
}

#[test]
fn a_stopped_replica_refuses_connections_and_is_back_at_the_same_port() {
    let app = App::serve(GONE, 0, Timestamp::now());
    until(|| app.send("/live").is_none());
    until(|| app.get("/live").is_some_and(|(status, _)| status == 200));
}

#[test]
fn a_silent_replica_accepts_and_answers_nothing_until_it_comes_back_by_itself() {
    let app = App::serve(GONE, 1, Timestamp::now());
    app.until(TrueState::Silent);
    let asked = app.send("/live").unwrap();
    app.until(TrueState::Healthy);
    assert!(is_silent(asked));
    assert_eq!(app.get("/live").unwrap().0, 200);
}

#[test]
fn what_is_left_to_chance_comes_out_by_the_seed() {
    let lost_under = |seed: u64| {
        let app = App::serve_with(CHANCE, 0, in_hours(-1), &["--seed", &seed.to_string()]);
        let scenario = ScenarioFile::parse("chance.yaml", CHANCE).unwrap().seeded(seed);
        assert_eq!(app.truth().turn, Some(1));
        assert_eq!(app.truth().state, scenario.condition(0, Opening::Warm, scenario.begin_of(1)).state());
        app.truth().state == TrueState::DependencyLost
    };
    let lost: Vec<_> = (0..6).filter(|seed| lost_under(*seed)).collect();
    assert!(!lost.is_empty() && lost.len() < 6, "{lost:?}");
}

#[test]
fn each_depth_sees_one_thing_more() {
    for (replica, depths) in [(0, [200, 200, 200, 503]), (1, [200, 503, 503, 503]), (2, [200, 200, 503, 503])] {
        let app = App::serve(DEPTHS, replica, in_hours(-1));
        let asked = ["/shallow", "/ready", "/deep-local", "/deep-all"].map(|path| app.get(path).unwrap().0);
        assert_eq!(asked, depths, "{replica}");
    }
}

#[test]
fn the_depths_and_the_work_ask_the_stores_where_there_are_any() {
    let (up, down) = (App::store(FOREVER, in_hours(1)), App::store(DEPTHS, in_hours(-1)));
    let of = |stores: &App| App::serve_with(FOREVER, 0, in_hours(1), &["--stores", &stores.address]);
    let statuses = |app: &App| {
        let posted = ["/write?turn=1&n=2", "/batch"].map(|path| app.ask("POST", path).unwrap().0);
        (["/deep-shared", "/deep-all"].map(|path| app.get(path).unwrap().0), posted)
    };
    assert_eq!(statuses(&of(&up)), ([200, 200], [200, 200]));
    assert_eq!(up.get("/held").unwrap().1, r#"[{"turn":1,"n":2}]"#);
    assert_eq!(statuses(&of(&down)), ([200, 503], [200, 503]));
}

#[test]
fn writes_that_a_half_down_replica_accepted_are_found_missing_in_the_store() {
    let stores = App::store(DEPTHS, in_hours(-1));
    let with = ["--stores", stores.address.as_str()];
    let [good, half_down] = [0, 2].map(|replica| App::serve_with(DEPTHS, replica, in_hours(-1), &with));
    let requests =
        ["--requests", "read=2,write=2,batch=1", "--rotation", "continuous", "--turns", "3", "--turn", "50ms"];
    let load = Load::run(&[&good.address, &half_down.address], &[&requests[..], &with].concat());
    let kinds: Vec<_> = load.requests.iter().map(|line| (line.turn, line.n, line.request)).collect();
    assert_eq!(kinds.iter().filter(|(_, _, kind)| *kind == RequestKind::Write).count(), 6);
    let failed: Vec<_> = load.requests.iter().filter(|line| line.outcome != Outcome::Served).collect();
    assert!(failed.iter().all(|line| line.request == RequestKind::Batch) && failed.len() == 3);
    let on_half_down: BTreeSet<_> = load
        .requests
        .iter()
        .filter(|line| line.request == RequestKind::Write && line.pod.as_ref() == Some(&half_down.address))
        .map(|line| Write { turn: line.turn, n: line.n })
        .collect();
    assert_eq!(on_half_down.len(), 3);
    assert_eq!(load.summary.lost_writes, Some(on_half_down.into_iter().collect()));
}

#[test]
fn replicas_beat_to_the_registry_and_leave_it_on_sigterm() {
    let registry = App::registry(REGISTERED, Timestamp::now());
    let with = ["--registry", registry.address.as_str()];
    let [first, mut second] = [0, 1].map(|replica| App::serve_with(REGISTERED, replica, Timestamp::now(), &with));
    let listed = || registry.get("/list").unwrap().1.matches("address").count();
    until(|| listed() == 2);
    let load = Load::run(&[], &[&["--resolve", "registry", "--rate", "10", "--turns", "1"], &with[..]].concat());
    for app in [&first, &second] {
        let to = load.requests.iter().filter(|line| line.pod.as_ref() == Some(&app.address));
        assert_eq!(to.filter(|line| line.outcome == Outcome::Served).count(), 5);
    }
    second.terminate();
    second.exit();
    assert_eq!(listed(), 1);
    drop(first);
    until(|| listed() == 0);
    let load =
        Load::run(&[], &[&["--resolve", "registry,cache=10s", "--rate", "10", "--turns", "1"], &with[..]].concat());
    assert!(load.requests.iter().all(|line| line.outcome == Outcome::EmptyPool));
}

#[test]
fn a_script_with_a_fault_on_a_replica_that_does_not_exist_is_refused_with_its_place() {
    let script = script("missing", &FOREVER.replace("{replica: 1", "{replica: 2"));
    let refused = fake_app(&["serve", "--listen", "127.0.0.1:0", "--replica", "0", "--script"]).arg(&script).output();
    assert_refused(&refused.unwrap(), &format!("{}:6:20: faults[0].replica: ", script.display()));
}

#[test]
fn a_replica_that_the_script_does_not_have_is_refused() {
    let run = |arguments: &[&str], host: &str| {
        let mut command = fake_app(&["serve", "--listen", "127.0.0.1:0", "--script"]);
        command.arg(script("number", FOREVER)).args(arguments).env("HOSTNAME", host).output().unwrap()
    };
    assert_refused(&run(&["--replica", "2"], "app-0"), "there is no replica 2 in the script, only 0 to 1");
    assert_refused(&run(&[], "app-2"), "there is no replica 2 in the script, only 0 to 1");
    assert_refused(&run(&[], "app-x"), "give --replica");
    assert_refused(&run(&["--start", "noon"], "app-0"), "a start is `repeat` or an instant");
}

#[test]
fn the_load_goes_round_the_endpoints_and_says_what_happened_to_every_request() {
    let (healthy, lost) = (App::serve(FOREVER, 0, in_hours(1)), App::serve(FOREVER, 1, in_hours(-1)));
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let load =
        Load::run(&[&healthy.address, &lost.address, &dead], &["--rate", "60", "--turns", "2", "--turn", "500ms"]);

    assert_eq!(load.requests.len(), 60);
    for request in &load.requests {
        let (address, outcome, state) = match request.n % 3 {
            0 => (&healthy.address, Outcome::Served, None),
            1 => (&lost.address, Outcome::NotServing, Some(TrueState::DependencyLost)),
            _ => (&dead, Outcome::Refused, None),
        };
        assert_eq!((request.pod.as_ref(), request.outcome, request.state), (Some(address), outcome, state));
    }
    assert_eq!(
        load.turns.iter().map(|turn| (turn.turn, turn.pool, turn.healthy)).collect::<Vec<_>>(),
        [(0, 3, 1), (1, 3, 1)]
    );
    assert_eq!(load.turns[0].states[&dead], None);
    let Summary { requests, unsent, total_errors, early_errors, truly_serving, .. } = load.summary;
    assert_eq!((requests, unsent, total_errors, early_errors, truly_serving), (60, 0, 40, 0, Some(1.0)));
}

#[test]
fn a_stuck_replica_delays_no_request_to_another() {
    let (stuck, healthy) = (App::serve(SOON, 0, Timestamp::now()), App::serve(FOREVER, 0, in_hours(1)));
    stuck.until(TrueState::Stuck);
    let load = Load::run(&[&stuck.address, &healthy.address], &["--rate", "20", "--turns", "1", "--timeout", "5s"]);
    let (to_stuck, others): (Vec<_>, Vec<_>) = load.requests.iter().partition(|request| request.n % 2 == 0);
    assert!(to_stuck.iter().all(|request| request.outcome == Outcome::TimedOut && request.latency_ms >= 5_000.0));
    assert!(others.iter().all(|request| request.outcome == Outcome::Served && request.at_ms < 5_000.0));
    assert_eq!(load.summary.failed[&Outcome::TimedOut], 10);
}

#[test]
fn errors_on_a_starting_replica_are_early() {
    let starting = App::serve(FOREVER, 0, in_hours(-1));
    let load = Load::run(&[&starting.address], &["--rate", "100", "--turns", "1", "--turn", "100ms"]);
    assert_eq!((load.summary.early_errors, load.summary.total_errors), (10, 10));
}

#[test]
fn connections_are_kept_open_only_when_asked_for() {
    let connections = |options: &[&str]| {
        let counted = Counted::serve();
        let load = Load::run(&[&counted.address], &[options, &["--rate", "10", "--turns", "1"]].concat());
        assert_eq!((load.summary.requests, load.summary.total_errors), (10, 0));
        counted.paths().iter().filter(|path| *path == "/request").count()
    };
    assert_eq!(connections(&[]), 10);
    assert!(connections(&["--keep-open"]) < 10);
}

#[test]
fn all_requests_go_to_one_address_when_asked_for() {
    let (app, other) = (App::serve(FOREVER, 0, in_hours(1)), App::serve(FOREVER, 1, in_hours(-1)));
    let url = format!("http://{}", app.address);
    let options = ["--url", &url, "--rate", "100", "--turns", "1", "--turn", "100ms"];
    let load = Load::run(&[&app.address, &other.address], &options);
    assert_eq!((load.summary.requests, load.summary.total_errors, load.turns[0].healthy), (10, 0, 1));
}

#[test]
fn a_load_that_is_told_to_end_still_sums_up() {
    let app = App::serve(FOREVER, 0, in_hours(1));
    let mut child =
        fake_app(&["load", "--endpoints", &app.address, "--turns", "3600"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let first = lines.next().unwrap();
    signal(&child, "TERM");
    let load = Load::parse(std::iter::once(first).chain(lines));
    assert!(child.wait().unwrap().success());
    assert_eq!(load.summary.requests, load.requests.len() as u64);
    assert_eq!(load.summary.requests + load.summary.unsent, 3600 * 50);
}

#[test]
fn a_load_without_a_target_or_without_a_rate_is_refused() {
    assert_refused(&fake_app(&["load"]).output().unwrap(), "--service");
    assert_refused(&fake_app(&["load", "--endpoints", "localhost"]).output().unwrap(), "must end in :PORT");
    assert_refused(&fake_app(&["load", "--endpoints", "a:1", "--rate", "0"]).output().unwrap(), "--rate");
    assert_refused(&fake_app(&["load", "--endpoints", "a:1", "--turn", "0s"]).output().unwrap(), "must not be zero");
}

/// In hour-long turns: replica 0 starts for 99 hours, replica 1 has no dependency for the first 99.
const FOREVER: &str = "
turn: 1h
turns: 100
requestsPerTurn: 1
replicas: {startup: [99, 0]}
faults: [{replica: 1, at: 0, dependencyLost: {for: 99}}]
";

/// In turns of 100 ms, at the speed of the tests: replica 0 gets stuck at 30, replica 1 is reopened at 30.
const SOON: &str = "
turn: 1s
turns: 100000
requestsPerTurn: 1
replicas: {count: 2, startup: 3}
reopenings: [{replica: 1, at: 30}]
faults: [{replica: 0, at: 30, stuck: {}}]
";

/// In turns of 100 ms, at the speed of the tests: replica 0 is gone from 30 to 49, replica 1 silent from 30 to 49.
const GONE: &str = "
turn: 1s
turns: 100000
requestsPerTurn: 1
replicas: {count: 2, startup: 0}
faults:
  - {replica: 0, at: 30, stopped: {for: 20}}
  - {replica: 1, at: 30, silent: {for: 20}}
";

/// In hour-long turns: a dependency that is lost now and then.
const CHANCE: &str = "
turn: 1h
turns: 100
requestsPerTurn: 1
replicas: {count: 1, startup: 0}
randomFaults: [{every: 2, dependencyLost: {for: 1}}]
";

/// In hour-long turns: the billing store is down, replica 1 warming, and replica 2 half down.
const DEPTHS: &str = "
turn: 1h
turns: 100
requestsPerTurn: 1
replicas: {count: 3, startup: 0}
faults:
  - {store: billing, at: 0, down: {for: 99}}
  - {replica: 1, at: 0, warming: {for: 99}}
  - {replica: 2, at: 0, halfDown: {for: 99}}
";

/// In turns of 100 ms, at the speed of the tests: a beat every turn, and entries that live for ten.
const REGISTERED: &str = "
turn: 1s
turns: 100000
requestsPerTurn: 1
replicas: {count: 2, startup: 0}
registry: {beat: 1, timeToLive: 10}
";

/// A turn of `SOON` by which everything in it has happened on the slowest machine.
const TOO_LATE: Option<u64> = Some(1_000);

fn in_hours(hours: i64) -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second() + 3600 * hours).unwrap()
}

fn fake_app(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-app"));
    command.args(arguments).env_remove("HOSTNAME");
    command
}

fn script(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-app-{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn assert_refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(why), "{said}");
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap().success());
}

/// Waits as long as it takes.
fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_silent(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// A replica in a process of its own.
struct App {
    child: Child,
    address: String,
}

impl App {
    fn serve(text: &str, replica: u32, start: Timestamp) -> Self {
        Self::serve_with(text, replica, start, &[])
    }

    fn serve_with(text: &str, replica: u32, start: Timestamp, options: &[&str]) -> Self {
        Self::start(text, start, &[&["serve", "--replica", &replica.to_string()], options].concat())
    }

    fn store(text: &str, start: Timestamp) -> Self {
        Self::start(text, start, &["store"])
    }

    fn registry(text: &str, start: Timestamp) -> Self {
        Self::start(text, start, &["registry"])
    }

    fn start(text: &str, start: Timestamp, arguments: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let mut child = fake_app(arguments)
            .args(["--listen", "127.0.0.1:0", "--speed", "10", "--start", &start.to_string(), "--script"])
            .arg(script(&name, &text.replace("1h", "10h")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }

    /// Sends a request, if the process still listens.
    fn send(&self, path: &str) -> Option<TcpStream> {
        self.send_by("GET", path)
    }

    fn send_by(&self, method: &str, path: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: app\r\nconnection: close\r\n\r\n").ok()?;
        Some(stream)
    }

    /// Status and body, if the process still answers.
    fn get(&self, path: &str) -> Option<(u16, String)> {
        self.ask("GET", path)
    }

    fn ask(&self, method: &str, path: &str) -> Option<(u16, String)> {
        let mut text = String::new();
        self.send_by(method, path)?.read_to_string(&mut text).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// What startup, liveness and readiness probes see, and a request.
    fn statuses(&self) -> [u16; 4] {
        ["/started", "/live", "/ready", "/request"].map(|path| self.get(path).unwrap().0)
    }

    fn truth(&self) -> Truth {
        self.last_truth().unwrap()
    }

    fn last_truth(&self) -> Option<Truth> {
        serde_json::from_str(&self.get("/truth")?.1).ok()
    }

    fn until(&self, state: TrueState) {
        loop {
            let truth = self.truth();
            if truth.state == state {
                return;
            }
            assert!(truth.turn < TOO_LATE, "still {truth:?}");
        }
    }

    fn terminate(&self) {
        signal(&self.child, "TERM");
    }

    fn exit(&mut self) -> ExitStatus {
        while let Some(truth) = self.last_truth() {
            assert!(truth.turn < TOO_LATE, "still {truth:?}");
        }
        self.child.wait().unwrap()
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a load wrote.
struct Load {
    requests: Vec<RequestLine>,
    turns: Vec<TruthLine>,
    summary: Summary,
}

impl Load {
    fn run(endpoints: &[&str], options: &[&str]) -> Self {
        let patient: &[&str] = if options.contains(&"--timeout") { &[] } else { &["--timeout", "1m"] };
        let mut command = fake_app(&["load"]);
        if !endpoints.is_empty() {
            command.args(["--endpoints", &endpoints.join(",")]);
        }
        let output = command.args(options).args(patient).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::parse(output.stdout.lines().map(|line| line.unwrap()))
    }

    fn parse(lines: impl Iterator<Item = String>) -> Self {
        let (mut requests, mut turns) = (Vec::new(), Vec::new());
        for line in lines {
            match serde_json::from_str(&line).unwrap() {
                Line::Request(request) => requests.push(request),
                Line::Truth(turn) => turns.push(turn),
                Line::Summary(summary) => return Self { requests, turns, summary },
            }
        }
        panic!("the last line is no summary");
    }
}

/// A server that remembers what each connection asked for first.
struct Counted {
    address: String,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Counted {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let counted = Self { address: listener.local_addr().unwrap().to_string(), paths: Arc::default() };
        let paths = counted.paths.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let paths = paths.clone();
                std::thread::spawn(move || answer_all(stream.unwrap(), &paths));
            }
        });
        counted
    }

    fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }
}

fn answer_all(mut stream: TcpStream, paths: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    paths.lock().unwrap().push(first.split(' ').nth(1).unwrap().to_owned());
    for line in lines {
        if line.is_empty() && stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").is_err() {
            return;
        }
    }
}
