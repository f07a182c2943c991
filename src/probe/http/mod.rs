//! The HTTP/1.1 kind: one GET on a connection of its own.

mod body;
mod head;
mod request;

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use self::body::{Body, Extent, Malformed};
use self::head::Head;
use super::Stage;
use super::connect::connect;
use crate::engine::OutcomeClass;

pub use request::{HttpGet, InvalidHttpGet};

/// The most bytes an answer's head may have, 1xx answers before it included; a longer one is no response.
pub const MAX_HEAD: usize = 16 * 1024;

/// The most bytes of a body that are read, chunk framing included; one that was sound so far passes.
pub const MAX_BODY: usize = 64 * 1024;

/// What is read at once. It holds nearly every head; the buffer grows up to [`MAX_HEAD`] for one that is longer.
const READ: usize = 2 * 1024;

/// Asks, and tells by `stage` how far it has come.
pub(super) async fn ask(address: SocketAddr, get: &HttpGet, stage: &mut Stage) -> io::Result<OutcomeClass> {
    let mut stream = connect(address).await?;
    *stage = Stage::Waiting;
    stream.write_all(get.request(address).as_bytes()).await?;
    let mut buffer = Vec::with_capacity(READ);
    match read_head(&mut stream, &mut buffer).await? {
        None => Ok(OutcomeClass::NoResponse),
        Some((status, body)) if (200..300).contains(&status) => {
            *stage = Stage::Reading;
            read_body(&mut stream, buffer, body).await
        }
        Some((status, _)) => Ok(OutcomeClass::BadStatus { status }),
    }
}

/// The status, and how the body is framed; what was read of the body stays in the buffer. `None`: no HTTP/1 head.
async fn read_head(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<(u16, Result<Body, Malformed>)>> {
    let mut start = 0;
    loop {
        match head::parse(&buffer[start..]) {
            Head::Malformed => return Ok(None),
            Head::Interim { length } => start += length,
            Head::Final { length, status, body } => {
                buffer.drain(..start + length);
                return Ok(Some((status, body)));
            }
            Head::Partial => {
                if buffer.len() >= MAX_HEAD {
                    return Ok(None);
                }
                if buffer.len() == buffer.capacity() {
                    buffer.reserve_exact(buffer.len());
                }
                if stream.read_buf(buffer).await? == 0 {
                    return Ok(None);
                }
            }
        }
    }
}

async fn read_body(
    stream: &mut TcpStream,
    mut buffer: Vec<u8>,
    body: Result<Body, Malformed>,
) -> io::Result<OutcomeClass> {
    let Ok(mut body) = body else { return Ok(OutcomeClass::BadBody) };
    let mut read = 0;
    loop {
        read += buffer.len();
        match body.take(&buffer) {
            Err(Malformed) => return Ok(OutcomeClass::BadBody),
            Ok(Extent::Complete) => return Ok(OutcomeClass::Passed),
            Ok(Extent::Open) if read >= MAX_BODY => return Ok(OutcomeClass::Passed),
            Ok(Extent::Open) => buffer.clear(),
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(if body.may_end_here() { OutcomeClass::Passed } else { OutcomeClass::BadBody });
        }
    }
}
