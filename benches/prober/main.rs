//! What an attempt costs, side by side with HAProxy: the engine, its schedule, the attempts and the metrics against
//! thousands of HTTP targets, a new connection for every attempt. Nothing here passes or fails.
//!
//! ```text
//! cargo bench --bench prober [TARGETS [PERIOD_MS]]
//! ```
//!
//! Everything runs in a network namespace of its own where that is allowed (root), so that thousands of short connections
//! fill no shared table. HAProxy is left out where it is not installed. Rounds alternate between the two; the medians are
//! printed.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

mod haproxy;
mod measure;
mod ours;
mod target;
#[path = "../warm/mod.rs"]
mod warm;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::{env, thread};

use measure::{Cost, Watched};

/// Where every target listens.
const PORT: u16 = 18_080;
const ROUNDS: usize = 3;

/// How many targets are asked, and how often.
#[derive(Clone, Copy)]
struct Task {
    targets: u32,
    period_ms: u64,
}

/// Starts a prober.
type Start = fn(Task) -> Watched;

fn main() {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (role, numbers) = match args.first().map(String::as_str) {
        Some("target" | "ours" | "measure") => (args[0].as_str(), &args[1..]),
        _ => ("", &args[..]),
    };
    let number = |place: usize, default| numbers.get(place).map_or(default, |text| text.parse().unwrap());
    let task = Task { targets: number(0, 2_000) as u32, period_ms: number(1, 1_000) };
    match role {
        "target" => target::serve(PORT),
        "ours" => ours::probe(task),
        "measure" => measure_all(task),
        _ => {
            let inside = "ip link set lo up && exec \"$@\"";
            let mut command = Command::new("unshare");
            command.args(["-n", "sh", "-c", inside, "sh"]).arg(env::current_exe().unwrap()).arg("measure");
            if !command.args(task.args()).status().is_ok_and(|status| status.success()) {
                measure_all(task);
            }
        }
    }
}

fn measure_all(task: Task) {
    let haproxy = haproxy::is_installed().then_some(("haproxy", haproxy::start as Start));
    let ours: Start = |task| Watched::myself("ours", task);
    let peers: Vec<(&str, Start)> = haproxy.into_iter().chain([("ours", ours)]).collect();
    let mut costs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((_, start), costs) in peers.iter().zip(&mut costs) {
            costs.push(measure::cost(task, *start));
        }
    }
    let Task { targets, period_ms } = task;
    println!("{targets} HTTP targets, each every {period_ms} ms, medians of {ROUNDS} rounds");
    let medians: Vec<Cost> = costs.into_iter().map(measure::median).collect();
    for ((name, _), cost) in peers.iter().zip(&medians) {
        let ratio = cost.micros / medians[0].micros;
        let Cost { micros, done, resident_mib } = cost;
        println!(
            "prober {name:8} {micros:6.1} us of CPU per attempt, ratio {ratio:.2}; {done:5.1} % of the attempts; {resident_mib:.1} MiB"
        );
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("on {cores} cores");
}

impl Task {
    fn args(self) -> [String; 2] {
        [self.targets.to_string(), self.period_ms.to_string()]
    }

    /// The address of a target: all of them are this machine.
    fn address(index: u32) -> SocketAddr {
        let [_, high, middle, low] = index.to_be_bytes();
        SocketAddr::new(Ipv4Addr::new(127, 1 + high, middle, low).into(), PORT)
    }
}
