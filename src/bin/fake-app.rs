//! The scripted app that lessons and tests run on, and the load on it.

use std::process::ExitCode;

use clap::Parser;
use probe_policy::fake_app::Command;

/// A scripted app for lessons about probes, and the load on it.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Cli::parse().command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
