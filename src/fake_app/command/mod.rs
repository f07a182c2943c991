//! The command line.

mod load;
mod script;
mod serve;
mod shared;

use std::process::ExitCode;

use axum::http::uri::Authority;
use clap::Parser;
use load::LoadArgs;
use serve::ServeArgs;
use shared::{RegistryArgs, StoreArgs};

/// A scripted app for lessons about probes, and the load on it.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Does what the process's arguments say, as [`Failure::report`] has it.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> ExitCode {
    match Cli::parse().command.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// What the program can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Be one replica of a scripted fleet.
    Serve(ServeArgs),
    /// Be the stores that all replicas share.
    Store(StoreArgs),
    /// Be the registry that replicas beat to.
    Registry(RegistryArgs),
    /// Send requests to a fleet at a fixed rate and write down what happens to each.
    Load(LoadArgs),
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
            Self::Store(args) => args.run().await,
            Self::Registry(args) => args.run().await,
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

/// Host and port.
fn authority(text: &str) -> anyhow::Result<String> {
    let authority: Authority = text.parse()?;
    anyhow::ensure!(authority.port_u16().is_some(), "must end in :PORT");
    Ok(text.to_owned())
}
