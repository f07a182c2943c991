//! The load: requests at a fixed rate, whatever becomes of them, and a look at what the replicas really are in the
//! middle of every turn, if turns are not too short for that. What happens is written as [`Line`]s.

mod client;
mod find;
mod fleet;
mod line;
mod plan;
mod send;
mod slices;
mod tally;

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use fleet::{Fleet, Member};
pub use line::{Line, Outcome, Outlived, RequestLine, Summary, TruthLine};
pub use plan::{Plan, Requests};

use self::send::Sending;
use self::tally::Tally;
use crate::engine::Span;
use crate::scenario::Rotation;

/// What is sent, and how.
#[derive(Clone, Debug)]
pub struct Load {
    /// When.
    pub plan: Plan,
    /// Where to.
    pub route: Route,
    /// Who gets the first request of a turn.
    pub rotation: Rotation,
    /// Over which connections.
    pub connections: Connections,
    /// How long a request may take.
    pub timeout: Duration,
    /// Where the shared stores are, to be asked at the end what they hold.
    pub stores: Option<String>,
}

/// Where the replicas are known from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The EndpointSlices of a Service.
    Service {
        /// Its name.
        name: String,
        /// Its namespace; `None` for that of the credentials.
        namespace: Option<String>,
    },
    /// Addresses that never change.
    Static(Vec<String>),
    /// Whatever somebody else believes at the moment.
    Followed(watch::Receiver<Fleet>),
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the ready endpoints, round, in the order of the pods' names.
    Endpoints,
    /// To those who are ready in the beginning, round, whatever becomes of them; a pod that is elsewhere by then is known by
    /// its name.
    Fixed,
    /// To those whom the registry lists, round, in the order in which they registered.
    Registry {
        /// Where the registry is.
        address: String,
        /// How old its answer may become; without one it is asked at every request.
        cache: Option<Span>,
    },
    /// All to one address, such as that of a Service; who answers is known from the answer.
    Address(String),
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A new one for every request.
    OnePerRequest,
    /// One to each address is kept open for the next request, also while its pod is not in the pool.
    KeptOpen,
}

/// Why a load could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No usable credentials, or no API server.
    #[error("cannot reach the cluster")]
    Cluster(#[from] kube::Error),
    /// The first list of slices did not come.
    #[error("cannot list the Service's EndpointSlices")]
    Slices(#[from] kube::runtime::watcher::Error),
    /// The stores do not say what they hold.
    #[error("cannot ask the stores what they hold")]
    Stores(#[source] io::Error),
    /// The lines cannot be written.
    #[error("cannot write what happened to the requests")]
    Write(#[from] io::Error),
}

/// Sends the load, and ends after the last turn, or early on `stop`. Every [`Line`] goes to `write` as it comes, the
/// summary, which is also returned, as the last one.
///
/// # Errors
/// If the replicas cannot be found out, or a line cannot be written.
pub async fn run(
    load: Load,
    source: Source,
    stop: &CancellationToken,
    mut write: impl FnMut(&Line) -> io::Result<()> + Send + 'static,
) -> Result<Summary, LoadError> {
    let fleet = match source {
        Source::Service { name, namespace } => slices::follow(&name, namespace.as_deref()).await?,
        Source::Static(addresses) => watch::channel(Fleet::fixed(addresses)).1,
        Source::Followed(fleet) => fleet,
    };
    let (lines, written) = mpsc::channel();
    // A thread of its own, since a slow reader of the lines must not delay a request.
    let writer = tokio::task::spawn_blocking(move || {
        let tally = Tally::count(&written, &mut write);
        (tally, write)
    });
    let end = Sending::new(load, fleet, lines, stop).send_all().await.map_err(LoadError::Stores);
    let (tally, mut write) = writer.await.map_err(io::Error::from)?;
    let summary = tally?.summary(end?);
    write(&Line::Summary(summary.clone()))?;
    Ok(summary)
}
