//! One request on a connection of its own.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest answer that is read.
const MAX_ANSWER: usize = 16 << 20;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks whoever listens at `address`, given as host and port, with such headers beside the host's.
///
/// # Errors
/// If nobody does, or the answer is not complete within five seconds.
pub async fn ask(
    method: Method,
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<(StatusCode, Bytes)> {
    timeout(PATIENCE, exchange(method, address, path, headers)).await?
}

async fn exchange(
    method: Method,
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> io::Result<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let request = Request::builder().method(method).uri(path).header("host", address);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Body::empty());
    let asking = async {
        let response = sender.send_request(request.map_err(io::Error::other)?).await.map_err(io::Error::other)?;
        let status = response.status();
        let body = to_bytes(Body::new(response.into_body()), MAX_ANSWER).await.map_err(io::Error::other)?;
        Ok((status, body))
    };
    // The connection only moves while it is polled, and may end before the last of the answer has been read.
    tokio::pin!(asking);
    tokio::select! {
        answer = &mut asking => answer,
        _ = connection => asking.await,
    }
}
