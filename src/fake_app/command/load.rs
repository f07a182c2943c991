//! `load`: requests to a fleet.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::Context;
use axum::http::uri::Authority;
use clap::Args;
use k8s_openapi::jiff::Timestamp;

use super::Failure;
use crate::api;
use crate::engine::Span;
use crate::fake_app::load::{self, Connections, Load, Plan, Rate, Route, Source};
use crate::runtime::stop_on_signal;
use crate::scenario::Speed;

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

impl LoadArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let out: Box<dyn Write + Send> = match self.out.as_path() {
            path if path == Path::new("-") => Box::new(io::stdout()),
            path => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()));
                Box::new(file.map_err(Failure::Input)?)
            }
        };
        self.load(out).await.map_err(Failure::Run)
    }

    async fn load(self, mut out: Box<dyn Write + Send>) -> anyhow::Result<()> {
        let source = match self.service {
            Some(service) => Source::Service { name: service, namespace: self.namespace },
            None => Source::Static(self.endpoints),
        };
        let load = Load {
            plan: Plan {
                start: self.start,
                turn: self.turn,
                turns: self.turns,
                rate: Rate { requests: self.rate.get(), each: Span::from_secs(1) },
                speed: self.speed,
            },
            route: self.url.map_or(Route::Endpoints, Route::Address),
            connections: if self.keep_open { Connections::KeptOpen } else { Connections::OnePerRequest },
            timeout: self.timeout.into(),
        };
        load::run(load, source, &stop_on_signal()?, move |line| line.write(&mut out)).await?;
        Ok(())
    }
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
