//! HAProxy's health checks, on one thread.

use std::env::temp_dir;
use std::fmt::Write as _;
use std::process::Command;

use super::super::process::Watched;
use super::super::{PORT, Task, measure};
use super::write;

pub fn is_installed() -> bool {
    Command::new("haproxy").arg("-v").output().is_ok_and(|output| output.status.success())
}

/// Checks every target, and serves nothing.
pub fn start(task: Task) -> Watched {
    let period = task.period_ms;
    // It does not run without anything to listen to.
    let socket = temp_dir().join("probe-policy-bench-haproxy.sock");
    let mut config = format!(
        "global\n  nbthread 1\n  maxconn 100\n  stats socket {} mode 600\n\
         defaults\n  mode http\n  timeout connect 1s\n  timeout client 5s\n  timeout server 5s\n  timeout check 1s\n\
         backend targets\n  option httpchk\n  http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host x\n  \
         http-check expect status 200\n  default-server inter {period}ms fall 3 rise 1\n",
        socket.display()
    );
    for index in 0..task.targets {
        writeln!(config, "  server s{index} {}:{PORT} check", Task::address(index).ip()).unwrap();
    }
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(write("haproxy.cfg", &config));
    measure::start(command)
}
