//! Keeps one process of a replica running, as the kubelet keeps a container: one that has ended is followed by another.

use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

use super::LocalError;
use super::process::{Process, Role};
use crate::engine::Incarnation;

/// A restart that was ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// The process that it was ordered for; it is void for any other.
    pub incarnation: Incarnation,
    /// What the process gets to end.
    pub grace: Duration,
}

/// What happens to a replica's processes.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// Which replica's.
    pub replica: usize,
    /// What.
    pub change: Change,
}

/// What happens to a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// It has ended, by an order or by itself.
    Ended,
    /// The next one listens.
    Listens(SocketAddr),
}

/// A replica that is kept.
pub(super) struct Keeper {
    /// Which replica.
    pub replica: usize,
    /// What its processes are.
    pub role: Role,
    /// When t = 0 is.
    pub start: Timestamp,
    /// The restarts that are ordered. When nobody can order any more, the last process is ended.
    pub orders: UnboundedReceiver<Order>,
    /// Who hears of its processes.
    pub news: UnboundedSender<News>,
}

impl Keeper {
    /// Keeps the replica, whose first process listens already.
    ///
    /// # Errors
    /// If a process cannot be started, or fails. One that is killed has not failed: somebody wanted to see it go.
    pub async fn keep(mut self, mut process: Process) -> Result<(), LocalError> {
        let mut incarnation = FIRST;
        loop {
            process.begin(self.start).await;
            tokio::select! {
                grace = self.ordered(incarnation) => match grace {
                    Some(grace) => process.end(grace).await?,
                    None => return process.end(Duration::ZERO).await,
                },
                status = process.ended() => {
                    let status = status?;
                    if status.code().is_some_and(|code| code != 0) {
                        return Err(LocalError::Failed { name: self.role.name, status });
                    }
                }
            }
            self.tell(Change::Ended);
            process = Process::start(&self.role).await?;
            incarnation.0 += 1;
            self.tell(Change::Listens(process.address()));
        }
    }

    /// Waits for a restart of this very process, and says what it gets to end; `None` when nobody orders any more.
    async fn ordered(&mut self, incarnation: Incarnation) -> Option<Duration> {
        loop {
            let order = self.orders.recv().await?;
            if order.incarnation == incarnation {
                return Some(order.grace);
            }
        }
    }

    fn tell(&self, change: Change) {
        // Whoever listened may have gone; then this is about to be dropped.
        let _ = self.news.send(News { replica: self.replica, change });
    }
}

/// Keeps a process that others use until that is `done`.
///
/// # Errors
/// If it ends before.
pub(super) async fn attend(
    mut process: Process,
    name: String,
    start: Timestamp,
    done: CancellationToken,
) -> Result<(), LocalError> {
    process.begin(start).await;
    tokio::select! {
        status = process.ended() => Err(LocalError::Failed { name, status: status? }),
        () = done.cancelled() => process.end(Duration::ZERO).await,
    }
}

/// The process that a replica begins with.
pub(super) const FIRST: Incarnation = Incarnation(1);
