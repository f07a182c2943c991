//! Listening, with interruptions: while the script has the process stopped its port is closed, as that of a process that
//! is gone.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::clock::{self, until};
use super::script::Script;
use crate::scenario::{Condition, TrueState};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// After a connection that could not be accepted, since there are too many.
const PAUSE: Duration = Duration::from_millis(10);

/// Serves whenever the script lets the process be there. Told to close, it takes no more connections, finishes what it is
/// answering, and returns.
pub(super) async fn listen_while_there(
    script: &Script,
    routes: Router,
    mut listener: TcpListener,
    closing: &CancellationToken,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    loop {
        let mut connections = JoinSet::new();
        let there = async {
            loop {
                tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => {
                            connections.spawn(answer(stream, routes.clone(), closing.clone()));
                        }
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    },
                    Some(_) = connections.join_next() => {}
                }
            }
        };
        tokio::select! {
            () = there => {}
            () = holds(script, |condition| condition.is(TrueState::Stopped)) => {}
            () = closing.cancelled() => {
                drop(listener);
                while connections.join_next().await.is_some() {}
                return Ok(());
            }
        }
        drop(listener);
        let place = keep(address)?;
        drop(connections);
        tokio::select! {
            () = holds(script, |condition| !condition.is(TrueState::Stopped)) => {}
            () = closing.cancelled() => return Ok(()),
        }
        listener = place.listen(BACKLOG)?;
    }
}

/// Answers the requests of one connection.
async fn answer(stream: TcpStream, routes: Router, closing: CancellationToken) {
    let service = TowerToHyperService::new(routes);
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    // How a connection ends is the other side's business.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Keeps the port without listening, so that connections are refused and nobody else takes it.
fn keep(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Ends when that holds of what is true of the process.
async fn holds(script: &Script, holds: impl Fn(Condition) -> bool) {
    let mut now = clock::now();
    while !holds(script.condition(now)) {
        match script.next_change(now) {
            Some(change) => until(change).await,
            None => return std::future::pending().await,
        }
        now = clock::now();
    }
}
