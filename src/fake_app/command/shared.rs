//! `store` and `registry`: what the replicas share.

use anyhow::Context;
use clap::Args;

use super::Failure;
use super::script::{ScriptArgs, Stage};
use crate::fake_app::{registry, store};

/// What the process of the shared stores needs to know.
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(flatten)]
    script: ScriptArgs,
}

/// What the registry's process needs to know.
#[derive(Debug, Args)]
pub struct RegistryArgs {
    #[command(flatten)]
    script: ScriptArgs,
}

impl StoreArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let serve =
            async |timing, stage: Stage| until_terminated(stage, |listener| store::serve(timing, listener)).await;
        self.script.run(Ok, serve).await
    }
}

impl RegistryArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let part = |timing: crate::fake_app::Timing| timing.time_to_live().context("the script has no registry");
        let serve =
            async |lives, stage: Stage| until_terminated(stage, |listener| registry::serve(lives, listener)).await;
        self.script.run(part, serve).await
    }
}

async fn until_terminated<F>(
    Stage { listener, mut terminate }: Stage,
    serve: impl FnOnce(tokio::net::TcpListener) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = std::io::Result<()>>,
{
    tokio::select! {
        served = serve(listener) => served.context("cannot serve"),
        _ = terminate.recv() => Ok(()),
    }
}
