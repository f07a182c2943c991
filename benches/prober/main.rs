//! What probing costs and how well it is done, side by side with what people use today: the engine, its schedule, the
//! attempts and the metrics against thousands of HTTP targets, a new connection for every attempt. Nothing here passes or
//! fails.
//!
//! ```text
//! benches/prober/install-peers
//! cargo bench --bench prober [TARGETS [PERIOD_MS [PEER]...]]
//! cargo bench --bench prober tracked          # the kernel's connection tracking
//! ```
//!
//! Everything runs in a network namespace of its own where that is allowed (root), so that thousands of short connections
//! fill no shared table. Peers that are not installed are left out. Rounds alternate between them; the medians are printed.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to measure")]

mod arrivals;
mod floor;
mod measure;
mod ours;
mod peers;
mod target;
mod tracked;
#[path = "../warm/mod.rs"]
mod warm;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, ExitStatus};
use std::{env, io, thread};

use measure::Cost;
use peers::Peer;

/// Where every target listens.
const PORT: u16 = 18_080;
const ROUNDS: usize = 3;
/// The lowest address of the targets.
const FIRST: u32 = u32::from_be_bytes([127, 1, 0, 0]);
/// Connections are tracked only where a rule asks for their state.
const TRACK: &str = "iptables -A INPUT -m conntrack --ctstate NEW -j ACCEPT";
/// What the connection tracking is measured with: it takes minutes, so few have to be enough.
const TRACKED: Task = Task { targets: 200, period_ms: 1_000 };

/// How many targets are asked, and how often.
#[derive(Clone, Copy)]
struct Task {
    targets: u32,
    period_ms: u64,
}

fn main() {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (role, rest) = match args.first() {
        Some(word) if word.parse::<u64>().is_err() => (word.as_str(), &args[1..]),
        Some(_) | None => ("", &args[..]),
    };
    let number = |place: usize, default| rest.get(place).map_or(default, |text| text.parse().unwrap());
    let task = || Task { targets: number(0, 2_000) as u32, period_ms: number(1, 1_000) };
    match role {
        "target" => target::serve(task()),
        "ours" => ours::probe(task()),
        "floor" => floor::probe(task()),
        "measure" => measure_all(task(), rest.get(2..).unwrap_or_default()),
        "tracked" if rest.is_empty() => peers::installed().iter().for_each(track_apart),
        "tracked" => track(&rest[0]),
        "" => {
            let peers = rest.get(2..).unwrap_or_default();
            let args = [&task().args(), peers].concat();
            if !apart("", "measure", &args).is_ok_and(|status| status.success()) {
                measure_all(task(), peers);
            }
        }
        other => panic!("{other} is neither a number of targets nor `tracked`"),
    }
}

/// Measures the peers of these names, or all.
fn measure_all(task: Task, names: &[String]) {
    let is_wanted = |peer: &Peer| names.is_empty() || names.iter().any(|name| name == peer.name);
    let peers: Vec<Peer> = peers::installed().into_iter().filter(is_wanted).collect();
    let mut costs: Vec<Vec<Cost>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (peer, costs) in peers.iter().zip(&mut costs) {
            costs.push(measure::cost(task, peer));
        }
    }
    let Task { targets, period_ms } = task;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("{targets} HTTP targets, each every {period_ms} ms; medians of {ROUNDS} rounds, on {cores} cores");
    println!(
        "prober     us/attempt  ratio  cores  done %  missed  p99 off ms  drift %  burst      MiB\n\
         (missed: intervals above 1.5 periods; off: from the period; burst: 1 is random arrivals)"
    );
    let medians: Vec<Cost> = costs.into_iter().map(measure::median).collect();
    for (Peer { name, .. }, cost) in peers.iter().zip(&medians) {
        let Cost { micros, cores, done, resident_mib, arrivals } = cost;
        println!(
            "{name:10} {micros:10.1} {:6.2} {cores:6.3} {done:7.2} {:7} {:11.2} {:8.4} {:6.2} {resident_mib:8.1}",
            micros / medians[0].micros,
            arrivals.missed,
            arrivals.p99_ms,
            arrivals.drift,
            arrivals.burst,
        );
    }
}

/// Each has a table of its own.
fn track_apart(peer: &Peer) {
    if !apart(TRACK, "tracked", &[peer.name.to_owned()]).is_ok_and(|status| status.success()) {
        println!("{}: no network namespace with connection tracking", peer.name);
    }
}

fn track(name: &str) {
    let peer = peers::installed().into_iter().find(|peer| peer.name == name).unwrap();
    match tracked::seconds_kept(TRACKED, &peer) {
        Some(seconds) => println!("{name:10} {seconds:6.1} entries tracked for every attempt a second"),
        None => println!("{name:10} connections are not tracked here"),
    }
}

/// This program in another role, in a network namespace of its own, after a command there.
fn apart(first: &str, role: &str, args: &[String]) -> io::Result<ExitStatus> {
    let script = format!("ip link set lo up && {} && exec \"$@\"", if first.is_empty() { "true" } else { first });
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", &script, "sh"]).arg(env::current_exe()?).arg(role).args(args);
    command.status()
}

impl Task {
    fn args(self) -> [String; 2] {
        [self.targets.to_string(), self.period_ms.to_string()]
    }

    /// The address of a target: all of them are this machine.
    fn address(target: u32) -> SocketAddr {
        SocketAddr::new(Ipv4Addr::from(FIRST + target).into(), PORT)
    }

    /// The target at an address.
    fn index(address: SocketAddr) -> Option<usize> {
        match address.ip() {
            IpAddr::V4(address) => Some(u32::from(address).checked_sub(FIRST)? as usize),
            IpAddr::V6(_) => None,
        }
    }
}
