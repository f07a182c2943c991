//! Who is measured: we, and what people use today. `benches/prober/peers` installs the others.

mod envoy;
mod haproxy;

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use super::measure::{start, start_myself};
use super::process::Watched;
use super::{PORT, Task};

/// A prober.
pub struct Peer {
    pub name: &'static str,
    start: fn(Task) -> Watched,
}

impl Peer {
    /// Starts it.
    pub fn start(&self, task: Task) -> Watched {
        (self.start)(task)
    }
}

/// Those that are installed, in the order in which they take turns.
pub fn installed() -> Vec<Peer> {
    let all = [
        (Peer { name: "haproxy", start: haproxy::start }, haproxy::is_installed()),
        (Peer { name: "ours", start: |task| start_myself("ours", task) }, true),
        (Peer { name: "floor", start: |task| start_myself("floor", task) }, true),
        (Peer { name: "envoy", start: envoy::start }, program("envoy").exists()),
        (Peer { name: "kubelet", start: kubelet }, program("kubelet-prober").exists()),
        (Peer { name: "kubelet-1", start: kubelet_on_one_thread }, program("kubelet-prober").exists()),
    ];
    all.into_iter().filter_map(|(peer, is_installed)| is_installed.then_some(peer)).collect()
}

/// The kubelet's own prober.
fn kubelet(task: Task) -> Watched {
    start(kubelet_command(task))
}

fn kubelet_on_one_thread(task: Task) -> Watched {
    let mut command = kubelet_command(task);
    command.env("GOMAXPROCS", "1");
    start(command)
}

fn kubelet_command(task: Task) -> Command {
    assert!(task.period_ms.is_multiple_of(1_000), "the kubelet knows whole seconds only");
    let mut command = Command::new(program("kubelet-prober"));
    command.args([task.targets.to_string(), (task.period_ms / 1_000).to_string(), PORT.to_string()]);
    command
}

/// Where a program is that was installed for this.
fn program(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cache/probe-policy/peers").join(name)
}

/// A configuration for whoever cannot do without a file.
fn write(name: &str, text: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("probe-policy-bench-{name}"));
    fs::write(&path, text).unwrap();
    path
}
