//! What a process costs, seen from outside.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use probe_policy::runtime::Clock;

use super::Task;

/// How long the load goes on before it is measured: every target has been asked more than once.
const WARM_UP: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(8);

/// What probing costs.
#[derive(Clone, Copy)]
pub struct Cost {
    /// CPU per attempt, the kernel's part included.
    pub micros: f64,
    /// Attempts of those scheduled, in per cent.
    pub done: f64,
    /// Resident memory.
    pub resident_mib: f64,
}

/// A process that ends with the value.
pub struct Watched(Child);

impl Watched {
    pub fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// This program in another role.
    pub fn myself(role: &str, task: Task) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg(role).args(task.args());
        Self::start(command)
    }

    /// What its threads have used of the processors.
    fn cpu(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let used = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok());
        used.filter_map(|line| line.split(' ').next()?.parse().ok()).map(Duration::from_nanos).sum()
    }

    fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a prober against fresh targets.
pub fn cost(task: Task, start: fn(Task) -> Watched) -> Cost {
    let mut target = Watched::myself("target", task);
    let (mut ask, mut answers) = (target.0.stdin.take().unwrap(), BufReader::new(target.0.stdout.take().unwrap()));
    let mut requests = || {
        let mut line = String::new();
        writeln!(ask).unwrap();
        answers.read_line(&mut line).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    requests();
    let prober = start(task);
    thread::sleep(WARM_UP + Duration::from_millis(task.period_ms));
    let clock = Clock::start();
    let (begin, used, asked) = (clock.now(), prober.cpu(), requests());
    thread::sleep(WINDOW);
    let (used, asked) = (prober.cpu() - used, requests() - asked);
    let scheduled = f64::from(task.targets) * clock.now().since(begin).as_secs_f64() * 1e3 / task.period_ms as f64;
    Cost {
        micros: used.as_secs_f64() * 1e6 / asked as f64,
        done: 100.0 * asked as f64 / scheduled,
        resident_mib: prober.resident_mib(),
    }
}

/// The round in the middle, by what an attempt costs.
pub fn median(mut rounds: Vec<Cost>) -> Cost {
    rounds.sort_by(|a, b| a.micros.total_cmp(&b.micros));
    rounds[rounds.len() / 2]
}
