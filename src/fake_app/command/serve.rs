//! `serve`: one replica.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::script::{ScriptArgs, Stage};
use super::{Failure, authority};
use crate::fake_app::{PodLease, Post, Script, Surroundings, clock, serve};

/// What a replica needs to know.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    script: ScriptArgs,
    /// Which replica of the scenario this is [default: the number at the end of the host's name].
    #[arg(long, env = "FAKE_APP_REPLICA")]
    replica: Option<u32>,
    /// Where the shared stores are [default: nowhere, and the script says what they would].
    #[arg(long, env = "FAKE_APP_STORES", value_name = "HOST:PORT", value_parser = authority)]
    stores: Option<String>,
    /// Where the registry is that the replica beats to [default: nowhere].
    #[arg(long, env = "FAKE_APP_REGISTRY", value_name = "HOST:PORT", value_parser = authority)]
    registry: Option<String>,
    /// The name of the pod that the replica is in; it renews that pod's Lease [default: it renews none].
    #[arg(long, env = "FAKE_APP_LEASE", value_name = "POD", requires = "lease_owner")]
    lease: Option<String>,
    /// The UID of that pod.
    #[arg(long, env = "FAKE_APP_LEASE_OWNER", value_name = "UID", requires = "lease")]
    lease_owner: Option<String>,
    /// Where controllers listen to which the replica beats over HTTP [default: nowhere].
    #[arg(long, env = "FAKE_APP_CONTROLLER", value_name = "HOST:PORT", value_parser = authority, requires = "token")]
    controller: Option<String>,
    /// The file with its pod's token, which the controller asks for.
    #[arg(long, env = "FAKE_APP_TOKEN", value_name = "FILE", requires = "controller")]
    token: Option<PathBuf>,
    /// The host's name, in a pod the pod's.
    #[arg(long, env = "HOSTNAME", hide = true)]
    host: Option<String>,
}

impl ServeArgs {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let opened = clock::now();
        let Self { script, replica, stores, registry, lease, lease_owner, controller, token, host } = self;
        let lease = match lease.zip(lease_owner) {
            Some((pod, uid)) => PodLease::new(pod, uid).await.map(Some).context("no way to the API server"),
            None => Ok(None),
        };
        let post = controller.zip(token).map(|(controller, token)| Post { controller, token });
        let around = Surroundings { host, stores, registry, lease: lease.map_err(Failure::Run)?, post };
        let number = replica.map_or_else(|| ordinal(around.host.as_deref()), Ok).map_err(Failure::Input)?;
        let part = |timing| Ok(Script::new(timing, number, opened)?);
        let play = async |part, Stage { listener, terminate }: Stage| {
            serve(part, around, listener, terminate).await.context("cannot serve")
        };
        script.run(part, play).await
    }
}

/// A StatefulSet's pods are numbered at the end of their names.
fn ordinal(host: Option<&str>) -> anyhow::Result<u32> {
    let host = host.context("cannot tell which replica this is: give --replica")?;
    let number = host.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number
        .with_context(|| format!("cannot tell which replica this is: {host:?} does not end in -NUMBER, give --replica"))
}
