//! One process of the fake app. It is tied to this process by its standard input, so it ends with this one whatever
//! ends that; dropping it kills it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::LocalError;

/// What the fake app says first.
const GREETING: &str = "listening on ";

/// Which program contains the fake app, as its subcommand `fake-app`.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

/// What a process is to be.
#[derive(Clone, Debug)]
pub(super) struct Role {
    /// Which program it runs.
    pub program: Program,
    /// Its name, as a pod's is its host's.
    pub name: String,
    /// The arguments after `fake-app`.
    pub arguments: Vec<String>,
    /// The text of the scenario that it plays in.
    pub script: Arc<str>,
}

/// A process that listens.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    leash: ChildStdin,
    /// Held open, so that the process may go on writing.
    _said: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Program {
    /// This very program.
    ///
    /// # Errors
    /// If the system does not tell which file that is.
    pub fn own() -> io::Result<Self> {
        std::env::current_exe().map(Self)
    }
}

impl Role {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program.0);
        command.arg("fake-app").args(&self.arguments).env_clear().env("HOSTNAME", &self.name);
        // In a group of its own: a Ctrl-C at the terminal is for this process, which then ends the others.
        command.process_group(0).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

impl Process {
    /// Starts one; when this returns it listens.
    pub async fn start(role: &Role) -> Result<Self, LocalError> {
        let failed = |source| LocalError::Start { program: role.program.0.clone(), source };
        let mut child = role.command().spawn().map_err(failed)?;
        let (Some(mut leash), Some(said)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let script = serde_json::Value::from(&*role.script);
        leash.write_all(format!("{script}\n").as_bytes()).await.map_err(failed)?;
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line).await.map_err(failed)?;
        let address = line.trim().strip_prefix(GREETING).and_then(|address| address.parse().ok());
        let address = address.ok_or(LocalError::Speechless { name: role.name.clone() })?;
        Ok(Self { child, leash, _said: said, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells it when t = 0 is; before, it answers nothing. One that is gone meanwhile is found out by its end.
    pub async fn begin(&mut self, start: Timestamp) {
        let _ = self.leash.write_all(format!("{start}\n").as_bytes()).await;
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> Result<ExitStatus, LocalError> {
        self.child.wait().await.map_err(LocalError::Wait)
    }

    /// Ends it: asks it to (SIGTERM), and after `grace` does not ask (SIGKILL).
    pub async fn end(mut self, grace: Duration) -> Result<(), LocalError> {
        if let Some(pid) = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            // One that has just ended by itself is gone all the same.
            let _ = kill_process(pid, Signal::TERM);
        }
        match timeout(grace, self.ended()).await {
            Ok(ended) => ended.map(|_| ()),
            Err(_) => self.child.kill().await.map_err(LocalError::Wait),
        }
    }
}
