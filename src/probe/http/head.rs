//! The head of an HTTP/1 answer, as far as a verdict needs it.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::body::{Body, Malformed};

/// The most header lines a head may have.
const MAX_HEADERS: usize = 128;

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// The beginning of a head.
    Partial,
    /// No head.
    Malformed,
    /// A head before the real one, of so many bytes.
    Interim { length: usize },
    /// The head.
    Final {
        /// Its bytes.
        length: usize,
        /// The status.
        status: u16,
        /// What follows; malformed if the headers contradict each other.
        body: Result<Body, Malformed>,
        /// Where the server sends who asks.
        location: Option<&'a [u8]>,
    },
}

/// Reads a head at the beginning of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Head<'_> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
    match (parsed, response.code) {
        (Ok(Status::Partial), _) => Head::Partial,
        (Ok(Status::Complete(length)), Some(100 | 102..=199)) => Head::Interim { length },
        (Ok(Status::Complete(length)), Some(status)) => {
            let location = location(status, response.headers);
            Head::Final { length, status, body: body(status, response.headers), location }
        }
        (Ok(Status::Complete(_)), None) | (Err(_), _) => Head::Malformed,
    }
}

/// How the body is framed (RFC 9112, section 6.3).
fn body(status: u16, headers: &[Header<'_>]) -> Result<Body, Malformed> {
    if matches!(status, 101 | 204 | 304) {
        return Ok(Body::sized(0));
    }
    if let Some(codings) = values(headers, "transfer-encoding").last() {
        let last = codings.rsplit(|&byte| byte == b',').next().unwrap_or_default();
        return Ok(if last.trim_ascii().eq_ignore_ascii_case(b"chunked") { Body::chunked() } else { Body::UntilClose });
    }
    let mut lengths = values(headers, "content-length").map(length);
    match lengths.next() {
        None => Ok(Body::UntilClose),
        Some(first) if lengths.all(|other| other == first) => first.map(Body::sized),
        Some(_) => Err(Malformed),
    }
}

fn location<'a>(status: u16, headers: &[Header<'a>]) -> Option<&'a [u8]> {
    let redirects = matches!(status, 301 | 302 | 303 | 307 | 308);
    headers.iter().find(|header| redirects && header.name.eq_ignore_ascii_case("location")).map(|header| header.value)
}

fn values<'a>(headers: &'a [Header<'a>], name: &'static str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

/// Digits only: what `parse` takes beside them, a sign, is no length.
fn length(value: &[u8]) -> Result<u64, Malformed> {
    let digits = value.trim_ascii();
    let text = std::str::from_utf8(digits).map_err(|_| Malformed)?;
    if digits.iter().all(u8::is_ascii_digit) { text.parse().map_err(|_| Malformed) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(headers: &str) -> Result<Body, Malformed> {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
        let head = parse(head.as_bytes());
        let Head::Final { status: 200, body, .. } = head else { panic!("{headers:?} is {head:?}") };
        body
    }

    #[test]
    fn the_headers_say_where_the_body_ends() {
        for (headers, body) in [
            ("", Ok(Body::UntilClose)),
            ("Content-Length: 5\r\n", Ok(Body::sized(5))),
            ("content-LENGTH:5 \r\ncontent-length: 5\r\n", Ok(Body::sized(5))),
            ("Content-Length: 5\r\nContent-Length: 6\r\n", Err(Malformed)),
            ("Content-Length: +5\r\n", Err(Malformed)),
            ("Content-Length: -5\r\n", Err(Malformed)),
            ("Content-Length: 5, 5\r\n", Err(Malformed)),
            ("Content-Length:\r\n", Err(Malformed)),
            ("Content-Length: 99999999999999999999\r\n", Err(Malformed)),
            ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Ok(Body::chunked())),
            ("Transfer-Encoding: gzip, Chunked\r\n", Ok(Body::chunked())),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", Ok(Body::chunked())),
            ("Transfer-Encoding: gzip\r\n", Ok(Body::UntilClose)),
            ("X-Folded: a\r\n b\r\nContent-Length: 5\r\n", Ok(Body::sized(5))),
        ] {
            assert_eq!(framing(headers), body, "{headers:?}");
        }
    }

    #[test]
    fn only_a_redirect_leads_elsewhere() {
        for (status, location) in [(200, None), (201, None), (304, None), (302, Some(&b"/a"[..])), (308, Some(b"/a"))] {
            let head = format!("HTTP/1.1 {status} Fine\r\nLocation: /a\r\n\r\n");
            let Head::Final { location: found, .. } = parse(head.as_bytes()) else { panic!("{status}") };
            assert_eq!(found, location, "{status}");
        }
    }

    #[test]
    fn interim_answers_are_told_from_the_final_one() {
        assert_eq!(parse(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), Head::Interim { length: 25 });
        assert_eq!(parse(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"), Head::Interim { length: 39 });
        let switched = parse(b"HTTP/1.1 101 Switching Protocols\r\n\r\n");
        assert!(matches!(switched, Head::Final { status: 101, .. }), "{switched:?}");
    }

    #[test]
    fn every_beginning_of_a_head_is_partial() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        for length in 0..head.len() {
            assert_eq!(parse(&head[..length]), Head::Partial, "{length}");
        }
    }

    #[test]
    fn other_protocols_are_no_head() {
        for bytes in [&b"hello"[..], b"HTTP/2 200\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x46", b"SSH-2.0-OpenSSH_9.9\r\n"]
        {
            assert_eq!(parse(bytes), Head::Malformed, "{bytes:?}");
        }
    }
}
