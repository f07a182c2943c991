//! `load`: requests to a fleet.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use axum::http::uri::Authority;
use clap::{Args, ValueEnum};
use k8s_openapi::jiff::Timestamp;

use super::{Failure, authority};
use crate::api;
use crate::engine::Span;
use crate::fake_app::load::{self, Connections, Load, Plan, Requests, Route, Source};
use crate::registry::Resolve;
use crate::runtime::stop_on_signal;
use crate::scenario::{PerKind, RequestKind, Rotation, Speed};

/// What the load needs to know.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The Service whose ready endpoints get the requests, and whose pods are asked for their true state.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["endpoints", "registry"])]
    service: Option<String>,
    /// The Service's namespace [default: that of the credentials].
    #[arg(long, requires = "service")]
    namespace: Option<String>,
    /// Endpoints that never change, instead of a Service.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', conflicts_with = "service", value_parser = authority)]
    endpoints: Vec<String>,
    /// How requests find a replica: `service` (its ready endpoints), `static` (the endpoints as they are in the
    /// beginning), `registry`, or `registry,cache=800ms` [default: service, if there is one, else static].
    #[arg(long)]
    resolve: Option<Finding>,
    /// The registry, for `--resolve registry`.
    #[arg(long, value_name = "HOST:PORT", requires = "resolve", value_parser = authority)]
    registry: Option<String>,
    /// The shared stores, to be asked at the end which of the writes they hold that were accepted.
    #[arg(long, value_name = "HOST:PORT", value_parser = authority)]
    stores: Option<String>,
    /// Send all requests here, to http://ADDRESS of the Service, instead of choosing an endpoint for each.
    #[arg(long, conflicts_with_all = ["resolve", "registry"], value_parser = address_of)]
    url: Option<String>,
    /// Use connections that are kept open, one to each address.
    #[arg(long)]
    keep_open: bool,
    /// Requests a second.
    #[arg(long, default_value = "50")]
    rate: NonZeroU32,
    /// Requests a turn, by kind, instead of plain ones at a rate, such as read=8,write=2,batch=1.
    #[arg(long, value_name = "KIND=NUMBER,...", conflicts_with = "rate", value_parser = per_turn)]
    requests: Option<PerKind<u32>>,
    /// The first turn with requests, counted from 0.
    #[arg(long, value_name = "TURN", default_value_t = 0, requires = "requests")]
    requests_from: u32,
    /// Who gets the first request of a turn.
    #[arg(long, value_enum, default_value_t)]
    rotation: RotationArg,
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

/// How requests find a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Service,
    By(Resolve<api::Duration>),
}

/// Who gets the first request of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RotationArg {
    /// The first ready endpoint
    #[default]
    EachTurn,
    /// The endpoint after the one that got the last request
    Continuous,
}

impl LoadArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let route = self.route().map_err(Failure::Input)?;
        let out: Box<dyn Write + Send> = match self.out.as_path() {
            path if path == Path::new("-") => Box::new(io::stdout()),
            path => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()));
                Box::new(file.map_err(Failure::Input)?)
            }
        };
        self.load(route, out).await.map_err(Failure::Run)
    }

    fn route(&self) -> anyhow::Result<Route> {
        if let Some(address) = &self.url {
            return Ok(Route::Address(address.clone()));
        }
        let by_registry = |finding| matches!(finding, Finding::By(Resolve::Registry | Resolve::Cached(_)));
        anyhow::ensure!(
            self.registry.is_none() || self.resolve.is_some_and(by_registry),
            "--registry is for --resolve registry: leave it out"
        );
        let cache = match self.resolve {
            None => return Ok(Route::Endpoints),
            Some(Finding::Service) if self.service.is_some() => return Ok(Route::Endpoints),
            Some(Finding::Service) => anyhow::bail!("--resolve service wants a --service"),
            Some(Finding::By(Resolve::Static)) => return Ok(Route::Fixed),
            Some(Finding::By(Resolve::Registry)) => None,
            Some(Finding::By(Resolve::Cached(age))) => Some(age.span()),
        };
        let address = self.registry.clone().context("--resolve registry wants a --registry")?;
        Ok(Route::Registry { address, cache })
    }

    async fn load(self, route: Route, mut out: Box<dyn Write + Send>) -> anyhow::Result<()> {
        let source = match self.service {
            Some(service) => Source::Service { name: service, namespace: self.namespace },
            None => Source::Static(self.endpoints),
        };
        let load = Load {
            plan: Plan {
                start: self.start,
                turn: self.turn,
                turns: self.turns,
                requests: match self.requests {
                    Some(kinds) => Requests::PerTurn { kinds, from: self.requests_from },
                    None => Requests::Rate(self.rate),
                },
                speed: self.speed,
            },
            route,
            rotation: match self.rotation {
                RotationArg::EachTurn => Rotation::EachTurn,
                RotationArg::Continuous => Rotation::Continuous,
            },
            connections: if self.keep_open { Connections::KeptOpen } else { Connections::OnePerRequest },
            timeout: self.timeout.into(),
            stores: self.stores,
        };
        load::run(load, source, &stop_on_signal()?, move |line| line.write(&mut out)).await?;
        Ok(())
    }
}

impl FromStr for Finding {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match text {
            "service" => Ok(Self::Service),
            other => other.parse().map(Self::By).context("must be service, static, registry or registry,cache=AGE"),
        }
    }
}

fn per_turn(text: &str) -> anyhow::Result<PerKind<u32>> {
    let mut kinds = PerKind::default();
    for part in text.split(',') {
        let (name, number) = part.split_once('=').with_context(|| format!("{part:?} is not KIND=NUMBER"))?;
        let kind = RequestKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.with_context(|| format!("there is no kind {name:?}, only plain, read, write and batch"))?;
        kinds[kind] = number.parse().with_context(|| format!("{number:?} is no number of requests"))?;
    }
    Ok(kinds)
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
