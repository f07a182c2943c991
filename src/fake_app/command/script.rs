//! What every process knows that plays in a script, alone or led by another process.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;
use crate::api::yaml::YamlError;
use crate::fake_app::leash::Leash;
use crate::fake_app::{Start, Timing};
use crate::scenario::{Scenario, ScenarioFile, Speed};

/// The script, and where to play.
#[derive(Debug, Args)]
pub(super) struct ScriptArgs {
    /// The scenario to play in. With `-`, scenario and start come from standard input, a pipe, and the process ends when
    /// that does.
    #[arg(long, env = "FAKE_APP_SCRIPT", value_name = "FILE", value_parser = told_by)]
    script: ToldBy,
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
    /// What decides over that which is random in the scenario.
    #[arg(long, env = "FAKE_APP_SEED", default_value_t = 0)]
    seed: u64,
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
pub(super) struct Stage {
    pub listener: TcpListener,
    pub terminate: Signal,
}

impl ScriptArgs {
    /// Finds the part that the process has in the script, listens, says where, and plays.
    pub async fn run<P>(
        self,
        part: impl FnOnce(Timing) -> anyhow::Result<P>,
        play: impl AsyncFnOnce(P, Stage) -> anyhow::Result<()>,
    ) -> Result<(), Failure> {
        match &self.script {
            ToldBy::File(scenario) => {
                let part = part(self.timing(scenario.clone(), self.start)).map_err(Failure::Input)?;
                let stage = Stage::open(self.listen).await.map_err(Failure::Run)?;
                play(part, stage).await.map_err(Failure::Run)
            }
            ToldBy::Leader => {
                let leash = Leash::from_stdin().context("--script - wants a pipe on standard input");
                self.follow(leash.map_err(Failure::Input)?, part, play).await.map_err(Failure::Run)
            }
        }
    }

    /// Listens as soon as it knows what to play, plays as soon as it knows from when on, and ends with the leash.
    async fn follow<P>(
        &self,
        mut leash: Leash,
        part: impl FnOnce(Timing) -> anyhow::Result<P>,
        play: impl AsyncFnOnce(P, Stage) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(script) = leash.line().await? else { return Ok(()) };
        let scenario = ScenarioFile::parse("standard input", &serde_json::from_str::<String>(&script)?)?;
        let stage = Stage::open(self.listen).await?;
        let Some(start) = leash.line().await? else { return Ok(()) };
        let part = part(self.timing(scenario, start.parse()?))?;
        tokio::select! {
            played = play(part, stage) => played,
            () = leash.end() => Ok(()),
        }
    }

    fn timing(&self, scenario: Scenario, start: Start) -> Timing {
        Timing::new(scenario.seeded(self.seed).at_speed(self.speed), start)
    }
}

impl Stage {
    async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        println!("listening on {}", listener.local_addr()?);
        Ok(Self { listener, terminate })
    }
}

fn told_by(path: &str) -> Result<ToldBy, YamlError> {
    match path {
        "-" => Ok(ToldBy::Leader),
        path => ScenarioFile::read(Path::new(path)).map(ToldBy::File),
    }
}
