//! `serve`: one replica.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;
use crate::api::yaml::YamlError;
use crate::fake_app::leash::Leash;
use crate::fake_app::{Script, Start, clock, serve};
use crate::scenario::{Scenario, ScenarioFile, Speed};

/// What a replica needs to know.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The scenario to act out. With `-`, scenario and start come from standard input, a pipe, and the process ends
    /// when that does.
    #[arg(long, env = "FAKE_APP_SCRIPT", value_name = "FILE", value_parser = told_by)]
    script: ToldBy,
    /// Which replica of the scenario this is [default: the number at the end of the host's name].
    #[arg(long, env = "FAKE_APP_REPLICA")]
    replica: Option<u32>,
    /// Where to listen. The address is printed, so port 0 will do.
    #[arg(long, env = "FAKE_APP_LISTEN", default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// When t = 0 of the scenario is: an instant such as 2026-03-01T12:00:00Z, or `repeat` for ever, aligned to
    /// multiples of its length since the Unix epoch.
    #[arg(long, env = "FAKE_APP_START", default_value = "repeat")]
    start: Start,
    /// Divides every duration of the scenario.
    #[arg(long, env = "FAKE_APP_SPEED", default_value_t = Speed::REAL)]
    speed: Speed,
    /// The host's name, in a pod the pod's.
    #[arg(long, env = "HOSTNAME", hide = true)]
    host: Option<String>,
}

/// Who says what to play.
#[derive(Clone, Debug)]
enum ToldBy {
    /// A file.
    File(Scenario),
    /// The process that started this one.
    Leader,
}

/// A socket that listens, in a process that hears SIGTERM: it does before it can be found.
struct Stage {
    listener: TcpListener,
    terminate: Signal,
}

impl ServeArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let opened = clock::now();
        match self.script.clone() {
            ToldBy::File(scenario) => {
                let script = self.part(scenario, self.start, opened).map_err(Failure::Input)?;
                let stage = Stage::open(self.listen).await.map_err(Failure::Run)?;
                stage.play(script, self.host).await.map_err(Failure::Run)
            }
            ToldBy::Leader => {
                let leash = Leash::from_stdin().context("--script - wants a pipe on standard input");
                self.follow(leash.map_err(Failure::Input)?, opened).await.map_err(Failure::Run)
            }
        }
    }

    /// Listens as soon as it knows what to play, and plays as soon as it knows from when on.
    async fn follow(self, mut leash: Leash, opened: Timestamp) -> anyhow::Result<()> {
        let Some(scenario) = leash.line().await? else { return Ok(()) };
        let scenario = ScenarioFile::parse("standard input", &serde_json::from_str::<String>(&scenario)?)?;
        let stage = Stage::open(self.listen).await?;
        let Some(start) = leash.line().await? else { return Ok(()) };
        let script = self.part(scenario, start.parse()?, opened)?;
        tokio::select! {
            played = stage.play(script, self.host) => played,
            () = leash.end() => Ok(()),
        }
    }

    /// The part of this replica.
    fn part(&self, scenario: Scenario, start: Start, opened: Timestamp) -> anyhow::Result<Script> {
        let replica = match self.replica {
            Some(replica) => replica,
            None => ordinal(self.host.as_deref())?,
        };
        Ok(Script::new(scenario.at_speed(self.speed), replica, start, opened)?)
    }
}

impl Stage {
    /// Listens, and says where.
    async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        println!("listening on {}", listener.local_addr()?);
        Ok(Self { listener, terminate })
    }

    async fn play(self, script: Script, host: Option<String>) -> anyhow::Result<()> {
        serve(script, host, self.listener, self.terminate).await.context("cannot serve")
    }
}

/// A StatefulSet's pods are numbered at the end of their names.
fn ordinal(host: Option<&str>) -> anyhow::Result<u32> {
    let host = host.context("cannot tell which replica this is: give --replica")?;
    let number = host.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number
        .with_context(|| format!("cannot tell which replica this is: {host:?} does not end in -NUMBER, give --replica"))
}

fn told_by(path: &str) -> Result<ToldBy, YamlError> {
    match path {
        "-" => Ok(ToldBy::Leader),
        path => ScenarioFile::read(Path::new(path)).map(ToldBy::File),
    }
}
