//! Logs to standard error: as text for a person, as JSON for a collector.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// How a log line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// A line that a person reads.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. The environment variable `RUST_LOG` chooses what is logged; by default our own decisions and
/// what kube warns of.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,kube=warn"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        LogFormat::Text => logs.with_target(false).with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => logs.json().flatten_event(true).init(),
    }
}
