//! What probing costs, and how well it is done.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use super::Task;
use super::arrivals::Summary;
use super::peers::Peer;
use super::process::Watched;

/// How long the load goes on before it is measured, besides a period: every target has been asked more than once.
const WARM_UP: Duration = Duration::from_secs(3);
/// How long it is measured, at least.
const WINDOW: Duration = Duration::from_secs(8);

/// What probing costs, and how well it is done.
#[derive(Clone, Copy)]
pub struct Cost {
    /// CPU per attempt, the kernel's part included.
    pub micros: f64,
    /// The processors that it keeps busy.
    pub cores: f64,
    /// Attempts of those scheduled, in per cent.
    pub done: f64,
    /// Resident memory.
    pub resident_mib: f64,
    pub arrivals: Summary,
}

/// Starts a prober, or the targets.
pub fn start(mut command: Command) -> Watched {
    Watched(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
}

/// Starts this program in another role.
pub fn start_myself(role: &str, task: Task) -> Watched {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(role).args(task.args());
    start(command)
}

/// Fresh targets.
pub struct Targets {
    process: Watched,
    answers: BufReader<ChildStdout>,
}

impl Targets {
    pub fn start(task: Task) -> Self {
        let mut process = start_myself("target", task);
        let answers = BufReader::new(process.0.stdout.take().unwrap());
        let mut targets = Self { process, answers };
        targets.arrivals(); // so that they listen
        targets
    }

    /// What has arrived since it was asked last.
    pub fn arrivals(&mut self) -> Summary {
        writeln!(self.process.0.stdin.as_mut().unwrap()).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        Summary::read(&line).unwrap()
    }
}

/// Runs a prober against fresh targets.
pub fn cost(task: Task, peer: &Peer) -> Cost {
    let period = Duration::from_millis(task.period_ms);
    let mut targets = Targets::start(task);
    let prober = peer.start(task);
    thread::sleep(WARM_UP + period);
    let used = prober.cpu();
    targets.arrivals();
    thread::sleep(WINDOW.max(period * 5 / 2));
    let (used, arrivals) = (prober.cpu() - used, targets.arrivals());
    let scheduled = f64::from(task.targets) * arrivals.seconds / period.as_secs_f64();
    Cost {
        micros: used.as_secs_f64() * 1e6 / arrivals.arrived as f64,
        cores: used.as_secs_f64() / arrivals.seconds,
        done: 100.0 * arrivals.arrived as f64 / scheduled,
        resident_mib: prober.mib("VmRSS"),
        arrivals,
    }
}

/// The round in the middle, by what an attempt costs.
pub fn median(mut rounds: Vec<Cost>) -> Cost {
    rounds.sort_by(|a, b| a.micros.total_cmp(&b.micros));
    rounds[rounds.len() / 2]
}
