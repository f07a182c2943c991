//! The gRPC kind: one `Check` of `grpc.health.v1` on a connection of its own.

mod message;

use std::io::{self, Cursor};
use std::net::SocketAddr;

use h2::client::SendRequest;
use http::{HeaderMap, Method, Request, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::connect::connect;
use super::{Kind, Stage, tls};
use crate::api::Grpc;
use crate::engine::OutcomeClass;

/// The most bytes that an answer may have. A health service's has seven, and headers around them.
const MAX_ANSWER: u32 = 16 * 1024;
/// The most bytes that are read of a connection: an answer, and frames of HTTP/2 that come with it or for ever.
const MAX_READ: u64 = 64 * 1024;

const PATH: &str = "/grpc.health.v1.Health/Check";

impl Kind for Grpc {
    type Place = SocketAddr;

    async fn ask(&self, place: &SocketAddr, stage: &mut Stage) -> io::Result<OutcomeClass> {
        let stream = connect(*place).await?;
        *stage = Stage::Waiting;
        // Kept apart, since HTTP/2 is large and few attempts need it.
        match self.tls() {
            None => Box::pin(check(stream, self, *place, stage)).await,
            Some(tls) => {
                Box::pin(async { check(tls::handshake(stream, tls, *place).await?, self, *place, stage).await }).await
            }
        }
    }
}

async fn check(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    grpc: &Grpc,
    address: SocketAddr,
    stage: &mut Stage,
) -> io::Result<OutcomeClass> {
    let (read, write) = tokio::io::split(stream);
    let stream = tokio::io::join(read.take(MAX_READ), write);
    let answered = async {
        let (sender, connection) = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(MAX_ANSWER)
            .max_header_list_size(MAX_ANSWER)
            .handshake(stream)
            .await?;
        let mut call = Box::pin(call(sender, grpc, address, stage));
        // The connection only moves while it is polled, and may end before the last of the answer has been read.
        tokio::select! {
            answer = &mut call => answer,
            _ended = connection => call.await,
        }
    };
    answered.await.map_err(|error| match error.into_io() {
        // So it calls an end of the connection while it waits, within a frame or not; that is no refusal.
        Some(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Other) => {
            io::ErrorKind::UnexpectedEof.into()
        }
        Some(error) => error,
        // What the other side sends is no HTTP/2, or it takes the call back.
        None => io::ErrorKind::InvalidData.into(),
    })
}

async fn call(
    sender: SendRequest<Cursor<Vec<u8>>>,
    grpc: &Grpc,
    address: SocketAddr,
    stage: &mut Stage,
) -> Result<OutcomeClass, h2::Error> {
    let mut sender = sender.ready().await?;
    let Ok(request) = request(grpc, address) else { return Ok(OutcomeClass::ProberError) };
    let (response, mut body) = sender.send_request(request, false)?;
    body.send_data(Cursor::new(message::request(grpc.service())), true)?;

    let response = response.await?;
    if response.status() != StatusCode::OK {
        return Ok(OutcomeClass::BadStatus { status: response.status().as_u16() });
    }
    // A call that fails at once says so in the head.
    if let Some(code) = code(response.headers()).filter(|code| *code != 0) {
        return Ok(OutcomeClass::BadCall { code });
    }
    *stage = Stage::Reading;
    let mut body = response.into_body();
    let mut answer = Vec::new();
    while let Some(data) = body.data().await {
        answer.extend_from_slice(&data?);
        if answer.len() > MAX_ANSWER as usize / 2 {
            return Ok(OutcomeClass::BadBody);
        }
    }
    let trailers = body.trailers().await?;
    Ok(match (trailers.as_ref().and_then(code), message::state(&answer)) {
        (Some(0), Some(state)) if grpc.accepts(state) => OutcomeClass::Passed,
        (Some(0), Some(_)) => OutcomeClass::NotServing,
        (Some(0), None) | (None, _) => OutcomeClass::BadBody,
        (Some(code), _) => OutcomeClass::BadCall { code },
    })
}

fn request(grpc: &Grpc, address: SocketAddr) -> http::Result<Request<()>> {
    let scheme = if grpc.tls().is_some() { "https" } else { "http" };
    Request::builder()
        .method(Method::POST)
        .uri(format!("{scheme}://{address}{PATH}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("user-agent", concat!("probe-policy/", env!("CARGO_PKG_VERSION")))
        .body(())
}

/// How the call went, in gRPC's numbers. One that cannot be read is 2, as gRPC itself has it.
fn code(headers: &HeaderMap) -> Option<u8> {
    const UNKNOWN: u8 = 2;
    let value = headers.get("grpc-status")?;
    Some(value.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(UNKNOWN))
}
