//! The command line of `probe-policy`: the controller, and the tools around it.

use std::io::Write;
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::runtime::{self, Runtime};

use crate::api;
use crate::cluster::{Clients, Scope, SliceWatch};
use crate::controller::lease::Terms;
use crate::controller::telemetry::{self, LogFormat};
use crate::controller::{self, Settings, release};
use crate::runtime::{Clock, stop_on_signal, stop_on_signals, timestamp};
use crate::tools::{LabArgs, SimulateArgs, SweepArgs};
use crate::{fake_app, lesson, scenario};

/// Liveness, startup and readiness decisions with the whole fleet in view.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the controller
    Controller(Box<ControllerArgs>),
    /// Print the CustomResourceDefinition of ProbePolicy
    Crd,
    /// Print the JSON Schema of a file that people write
    Schema {
        /// Which file
        #[arg(value_enum)]
        of: Written,
    },
    /// Check policy files without a cluster, by the rules that the API server enforces
    Validate {
        /// Files with ProbePolicy manifests
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Open every gate and let in every endpoint with your own rights, whether or not a controller runs
    Release(ReleaseArgs),
    /// Run a published lesson and compare
    #[command(subcommand)]
    Lesson(lesson::Command),
    /// Run a policy on a scenario in the model
    Simulate(SimulateArgs),
    /// Run a policy on a scenario on processes of this machine, and take edits of the policy meanwhile
    Lab(LabArgs),
    /// Be a process of the local world
    #[command(subcommand, hide = true)]
    FakeApp(Box<fake_app::Command>),
    /// Run every combination of some fields' values on a scenario in the model
    Sweep(SweepArgs),
}

/// Threads beside the one that decides, for attempts, watches and writes.
const THREADS: usize = 2;

/// A file that people write and that no cluster knows.
#[derive(Clone, Copy, ValueEnum)]
enum Written {
    /// A fleet and what happens to it
    Scenario,
}

#[derive(Args)]
struct ControllerArgs {
    /// Look only at this namespace [default: all]
    #[arg(long)]
    namespace: Option<String>,
    /// For how long the leader claims the lease at each renewal, in whole seconds
    #[arg(long, default_value = "15s")]
    lease_duration: api::Duration,
    /// How long after its last renewal the leader stops acting
    #[arg(long, default_value = "10s")]
    lease_renew_deadline: api::Duration,
    /// From one attempt to claim or renew the lease to the next
    #[arg(long, default_value = "2s")]
    lease_retry: api::Duration,
    /// This process's name in the election
    #[arg(long, env = "POD_NAME", default_value = "probe-policy")]
    name: String,
    /// Where to serve /metrics, /healthz, /readyz and /state
    #[arg(long, default_value = "0.0.0.0:8080")]
    listen: SocketAddr,
    /// How many attempts may be in flight at once
    #[arg(long, default_value = "512")]
    max_attempts: NonZeroU16,
    /// How many attempts there may be a second; with more targets, periods are stretched [default: no limit]
    #[arg(long)]
    max_attempts_per_second: Option<NonZeroU32>,
    /// How many gates may be written a second; ejections go first
    #[arg(long, default_value = "500")]
    max_writes_per_second: NonZeroU32,
    /// Whether to watch Services and EndpointSlices, which `pool.through: EndpointSlice` needs
    #[arg(long, value_enum, default_value_t)]
    slices: SliceWatch,
    /// How to write the log
    #[arg(long, value_enum, default_value_t)]
    log: LogFormat,
}

#[derive(Args)]
struct ReleaseArgs {
    /// Every gate and slice in scope; there is no other choice yet, but opening all of them is worth saying
    #[arg(long, required = true)]
    all: bool,
    /// Only in this namespace [default: all]
    #[arg(long)]
    namespace: Option<String>,
}

/// What a user wrote makes no sense; nothing was done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadInput(String);

/// Does what the process's arguments say. The exit code is 0 if it went well, 1 if something failed while it ran, and 2
/// if the input makes no sense; then a sentence about it is on standard error.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Controller(args) => run_controller(*args),
        Command::Crd => print_crd(),
        Command::Schema { of: Written::Scenario } => print_schema(),
        Command::Validate { files } => validate(&files),
        Command::Release(args) => run_release(args),
        Command::Lesson(command) => run_lesson(command),
        Command::Simulate(args) => simulate(args),
        Command::Sweep(args) => sweep(args),
        Command::Lab(args) => lab(args),
        Command::FakeApp(command) => run_fake_app(*command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<BadInput>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run_controller(args: ControllerArgs) -> anyhow::Result<()> {
    let (duration, deadline) = (args.lease_duration.span(), args.lease_renew_deadline.span());
    let terms = Terms::new(duration, deadline, args.lease_retry.span()).map_err(|error| BadInput(error.to_string()))?;
    telemetry::start(args.log);
    let settings = Settings {
        scope: scope(args.namespace),
        slices: args.slices,
        terms,
        name: args.name,
        listen: args.listen,
        max_attempts: args.max_attempts,
        max_attempts_per_second: args.max_attempts_per_second,
        max_writes_per_second: args.max_writes_per_second,
    };
    // A thread for every processor of a large node would cost more than it could save.
    let runtime = runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(async {
        let stop = stop_on_signal()?;
        controller::run(Clients::infer().await?, settings, stop).await?;
        Ok(())
    })
}

fn print_crd() -> anyhow::Result<()> {
    std::io::stdout().write_all(api::crd_yaml()?.as_bytes()).context("cannot print the CRD")
}

fn print_schema() -> anyhow::Result<()> {
    let schema = scenario::json_schema();
    writeln!(std::io::stdout(), "{:#}", schema.as_value()).context("cannot print the schema")
}

fn validate(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        api::read_policy(file).map_err(|error| BadInput(error.to_string()))?;
        println!("{}: valid", file.display());
    }
    Ok(())
}

fn run_release(args: ReleaseArgs) -> anyhow::Result<()> {
    let released = Runtime::new()?.block_on(async {
        let clients = Clients::infer().await?;
        let now = timestamp(Clock::start().now());
        release::release(&clients.actor, &scope(args.namespace), now).await.context("cannot list pods and slices")
    })?;
    println!("opened {} gates, {} were open", released.opened, released.open);
    println!("let every endpoint of {} slices in", released.slices);
    for (object, error) in &released.failed {
        eprintln!("{object}: {error}");
    }
    anyhow::ensure!(released.failed.is_empty(), "{} gates or slices could not be opened", released.failed.len());
    Ok(())
}

fn run_lesson(command: lesson::Command) -> anyhow::Result<()> {
    let plan = command.plan().map_err(|error| BadInput(error.to_string()))?;
    Runtime::new()?.block_on(async { Ok(plan.run(&stop_on_signals()?).await?) })
}

fn simulate(args: SimulateArgs) -> anyhow::Result<()> {
    let plan = args.plan().map_err(|error| BadInput(error.to_string()))?;
    Ok(plan.run()?)
}

fn sweep(args: SweepArgs) -> anyhow::Result<()> {
    let plan = args.plan().map_err(|error| BadInput(error.to_string()))?;
    Runtime::new()?.block_on(async { Ok(plan.run(&stop_on_signal()?).await?) })
}

fn lab(args: LabArgs) -> anyhow::Result<()> {
    let plan = args.plan().map_err(|error| BadInput(error.to_string()))?;
    Runtime::new()?.block_on(async { Ok(plan.run(&stop_on_signal()?).await?) })
}

fn run_fake_app(command: fake_app::Command) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command.run()).map_err(|failure| match failure {
        fake_app::Failure::Input(error) => BadInput(format!("{error:#}")).into(),
        fake_app::Failure::Run(error) => error,
    })
}

fn scope(namespace: Option<String>) -> Scope {
    namespace.map_or(Scope::Cluster, Scope::Namespace)
}
