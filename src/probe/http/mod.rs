//! The HTTP/1.1 kind: one GET on a connection of its own, or one on each if redirects are followed.

mod body;
#[cfg(test)]
mod fuzz;
mod head;
mod health;
mod redirect;
mod request;

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use self::body::{Body, Content, Extent, Malformed};
use self::head::Head;
use super::connect::connect;
use super::{Kind, Stage, tls};
use crate::api::{HttpGet, Redirects};
use crate::engine::OutcomeClass;

/// The most bytes an answer's head may have, 1xx answers before it included; a longer one is no response.
pub const MAX_HEAD: usize = 16 * 1024;

/// What is read at once. It holds nearly every head, and the allocator keeps buffers of that size at hand; the buffer
/// grows up to [`MAX_HEAD`] for a head that is longer.
const READ: usize = 1_000;

/// Redirects that are followed before the next one fails.
const MAX_REDIRECTS: u32 = 10;

impl Kind for HttpGet {
    type Place = SocketAddr;

    async fn ask(&self, place: &SocketAddr, stage: &mut Stage) -> io::Result<OutcomeClass> {
        let mut path = Cow::Borrowed(self.path());
        let mut followed = 0;
        loop {
            match visit(self, &path, *place, stage).await? {
                Visit::Ended(class) => return Ok(class),
                Visit::Redirected { to, .. } if followed < MAX_REDIRECTS => {
                    (path, followed) = (Cow::Owned(to), followed + 1);
                }
                Visit::Redirected { status, .. } => return Ok(OutcomeClass::BadStatus { status }),
            }
        }
    }
}

/// What came of one request.
enum Visit {
    /// The last word.
    Ended(OutcomeClass),
    /// The way to another path.
    Redirected { to: String, status: u16 },
}

async fn visit(get: &HttpGet, path: &str, address: SocketAddr, stage: &mut Stage) -> io::Result<Visit> {
    *stage = Stage::Connecting;
    let stream = connect(address).await?;
    *stage = Stage::Waiting;
    let request = request::text(get, path, address);
    match get.tls() {
        None => exchange(stream, get, &request, address, stage).await,
        // Kept apart, since it is large and few attempts need it.
        Some(tls) => {
            Box::pin(async {
                let stream = tls::handshake(stream, tls, address).await?;
                exchange(stream, get, &request, address, stage).await
            })
            .await
        }
    }
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    get: &HttpGet,
    request: &str,
    address: SocketAddr,
    stage: &mut Stage,
) -> io::Result<Visit> {
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut buffer = Vec::with_capacity(READ);
    let Some(Answer { status, body, location }) = read_head(&mut stream, &mut buffer).await? else {
        return Ok(Visit::Ended(OutcomeClass::NoResponse));
    };
    if get.expects(status) {
        *stage = Stage::Reading;
        let class = match get.health() {
            None => read_body(&mut stream, buffer, body, get.max_body(), &mut Content::Ignored).await?,
            Some(health) => {
                let mut content = Content::Kept(Vec::new());
                let class = read_body(&mut stream, buffer, body, get.max_body(), &mut content).await?;
                // One that was cut off is no JSON.
                if class == OutcomeClass::Passed { health::class(content.bytes(), health) } else { class }
            }
        };
        return Ok(Visit::Ended(class));
    }
    let to = match (get.redirects(), location) {
        (Redirects::SameHost, Some(location)) => redirect::path_at_same_host(&location, get, address),
        (Redirects::SameHost, None) | (Redirects::None, _) => None,
    };
    Ok(match to {
        Some(to) => Visit::Redirected { to, status },
        None => Visit::Ended(OutcomeClass::BadStatus { status }),
    })
}

/// The head of an answer.
struct Answer {
    status: u16,
    /// How the body is framed.
    body: Result<Body, Malformed>,
    /// Where the server sends who asks.
    location: Option<Vec<u8>>,
}

/// The head; what was read of the body stays in the buffer. `None`: no HTTP/1 head.
async fn read_head(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> io::Result<Option<Answer>> {
    let mut start = 0;
    loop {
        match head::parse(&buffer[start..]) {
            Head::Malformed => return Ok(None),
            Head::Interim { length } => start += length,
            Head::Final { length, status, body, location } => {
                let location = location.map(<[u8]>::to_vec);
                buffer.drain(..start + length);
                return Ok(Some(Answer { status, body, location }));
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

/// Of a body that is sound as far as it is read, at most `max` bytes are; chunk framing counts.
async fn read_body(
    stream: &mut (impl AsyncRead + Unpin),
    mut buffer: Vec<u8>,
    body: Result<Body, Malformed>,
    max: usize,
    content: &mut Content,
) -> io::Result<OutcomeClass> {
    let Ok(mut body) = body else { return Ok(OutcomeClass::BadBody) };
    let mut left = max;
    loop {
        // Never a byte more, so that it does not matter how the network cuts the answer.
        let here = buffer.len().min(left);
        left -= here;
        match body.take(&buffer[..here], content) {
            Err(Malformed) => return Ok(OutcomeClass::BadBody),
            Ok(Extent::Complete) => return Ok(OutcomeClass::Passed),
            Ok(Extent::Open) if left == 0 => return Ok(OutcomeClass::Passed),
            Ok(Extent::Open) => buffer.clear(),
        }
        if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(if body.may_end_here() { OutcomeClass::Passed } else { OutcomeClass::BadBody });
        }
    }
}
