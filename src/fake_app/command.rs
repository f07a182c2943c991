//! The command line.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use axum::http::uri::Authority;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::load::{self, Connections, Load, Plan, Route, Source};
use super::{Script, Start, clock, serve};
use crate::api::{self, yaml::YamlError};
use crate::engine::Span;
use crate::scenario::{Scenario, ScenarioFile, Speed};

/// What the program can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Be one replica of a scripted fleet.
    Serve(ServeArgs),
    /// Send requests to a fleet at a fixed rate and write down what happens to each.
    Load(LoadArgs),
}

/// What a replica needs to know.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The scenario to act out.
    #[arg(long, env = "FAKE_APP_SCRIPT", value_name = "FILE", value_parser = read_scenario)]
    script: Scenario,
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

/// What the load needs to know.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The Service whose ready endpoints get the requests, and whose pods are asked for their true state.
    #[arg(long, value_name = "NAME", required_unless_present = "endpoints")]
    service: Option<String>,
    /// The Service's namespace [default: that of the credentials].
    #[arg(long, requires = "service")]
    namespace: Option<String>,
    /// Endpoints that never change, instead of a Service.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', conflicts_with = "service", value_parser = endpoint)]
    endpoints: Vec<String>,
    /// Send all requests here, to http://ADDRESS of the Service, instead of choosing an endpoint for each.
    #[arg(long, value_parser = address_of)]
    url: Option<String>,
    /// Use connections that are kept open, one to each address.
    #[arg(long)]
    keep_open: bool,
    /// Requests a second.
    #[arg(long, default_value = "50")]
    rate: NonZeroU32,
    /// How many turns.
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// The length of a turn.
    #[arg(long, default_value = "1s", value_parser = some_time)]
    turn: Span,
    /// How long a request may take. No speed shortens it.
    #[arg(long, default_value = "1s", value_parser = some_time)]
    timeout: Span,
    /// When the first turn begins [default: now].
    #[arg(long, value_name = "INSTANT")]
    start: Option<Timestamp>,
    /// Divides the length of a turn and the time between two requests.
    #[arg(long, default_value_t = Speed::REAL)]
    speed: Speed,
    /// Where the lines go; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

/// Why the program ends without having done its work.
#[derive(Debug)]
pub enum Failure {
    /// What it was given makes no sense: nothing was done.
    Input(anyhow::Error),
    /// Something went wrong on the way.
    Run(anyhow::Error),
}

impl Command {
    /// Does it.
    pub async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Serve(args) => args.run().await,
            Self::Load(args) => args.run().await,
        }
    }
}

impl Failure {
    /// Says so on standard error and gives the exit code: 2 for bad input, else 1.
    pub fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Self::Input(error) => (error, 2),
            Self::Run(error) => (error, 1),
        };
        eprintln!("error: {error:#}");
        ExitCode::from(code)
    }
}

impl ServeArgs {
    async fn run(self) -> Result<(), Failure> {
        let opened = clock::now();
        let script = self.script(opened).map_err(Failure::Input)?;
        self.play(script).await.map_err(Failure::Run)
    }

    fn script(&self, opened: Timestamp) -> anyhow::Result<Script> {
        let replica = match self.replica {
            Some(replica) => replica,
            None => ordinal(self.host.as_deref())?,
        };
        Ok(Script::new(self.script.clone().at_speed(self.speed), replica, self.start, opened)?)
    }

    async fn play(self, script: Script) -> anyhow::Result<()> {
        let terminate = signal(SignalKind::terminate())?;
        let listener =
            TcpListener::bind(self.listen).await.with_context(|| format!("cannot listen on {}", self.listen))?;
        println!("listening on {}", listener.local_addr()?);
        serve(script, self.host, listener, terminate).await.context("cannot serve")
    }
}

impl LoadArgs {
    async fn run(self) -> Result<(), Failure> {
        let out: Box<dyn Write + Send> = match self.out.as_path() {
            path if path == Path::new("-") => Box::new(io::stdout()),
            path => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()));
                Box::new(file.map_err(Failure::Input)?)
            }
        };
        self.load(out).await.map_err(Failure::Run)
    }

    async fn load(self, out: Box<dyn Write + Send>) -> anyhow::Result<()> {
        let source = match self.service {
            Some(service) => Source::Service { name: service, namespace: self.namespace },
            None => Source::Static(self.endpoints),
        };
        let load = Load {
            plan: Plan { start: self.start, turn: self.turn, turns: self.turns, rate: self.rate, speed: self.speed },
            route: self.url.map_or(Route::Endpoints, Route::Address),
            connections: if self.keep_open { Connections::KeptOpen } else { Connections::OnePerRequest },
            timeout: self.timeout.into(),
        };
        load::run(load, source, out).await.map_err(Into::into)
    }
}

/// A StatefulSet's pods are numbered at the end of their names.
fn ordinal(host: Option<&str>) -> anyhow::Result<u32> {
    let host = host.context("cannot tell which replica this is: give --replica")?;
    let number = host.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number
        .with_context(|| format!("cannot tell which replica this is: {host:?} does not end in -NUMBER, give --replica"))
}

fn read_scenario(path: &str) -> Result<Scenario, YamlError> {
    ScenarioFile::read(Path::new(path))
}

fn endpoint(text: &str) -> anyhow::Result<String> {
    let authority: Authority = text.parse()?;
    anyhow::ensure!(authority.port_u16().is_some(), "must end in :PORT");
    Ok(text.to_owned())
}

fn address_of(url: &str) -> anyhow::Result<String> {
    let authority = url.strip_prefix("http://").context("must begin with http://")?;
    let authority: Authority =
        authority.trim_end_matches('/').parse().context("must be http://HOST or http://HOST:PORT")?;
    Ok(if authority.port_u16().is_some() { authority.to_string() } else { format!("{authority}:80") })
}

fn some_time(text: &str) -> anyhow::Result<Span> {
    let span = text.parse::<api::Duration>()?.span();
    anyhow::ensure!(!span.is_zero(), "must not be zero");
    Ok(span)
}
