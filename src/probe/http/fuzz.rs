//! Whatever a server sends, and however the network cuts it: an attempt ends, and says the same of the same bytes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Visit, exchange};
use crate::api::HttpGet;
use crate::api::test_support::get;
use crate::engine::OutcomeClass;
use crate::probe::Stage;

/// A connection on which the pieces come one by one, and then the end.
struct Pieces(VecDeque<Vec<u8>>);

impl Pieces {
    fn new(bytes: &[u8], cuts: &[prop::sample::Index]) -> Self {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| bytes[cut[0]..cut[1]].to_vec());
        Self(pieces.filter(|piece| !piece.is_empty()).collect())
    }
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(piece) = self.0.front_mut() {
            let here = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..here]);
            piece.drain(..here);
            if piece.is_empty() {
                self.0.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What an attempt makes of the bytes, and the path that it would follow.
fn ask(get: &HttpGet, bytes: &[u8], cuts: &[prop::sample::Index]) -> (Option<OutcomeClass>, Option<String>) {
    let (mut stage, address) = (Stage::Waiting, "10.0.0.1:80".parse().unwrap());
    let visit = exchange(Pieces::new(bytes, cuts), get, "", address, &mut stage).now_or_never();
    match visit.expect("nothing to wait for").unwrap() {
        Visit::Ended(class) => (Some(class), None),
        Visit::Redirected { to, .. } => (None, Some(to)),
    }
}

/// Answers that are sound, and whole with their last byte only.
fn sound() -> impl Strategy<Value = Vec<u8>> {
    let interim = prop_oneof![
        3 => Just(""),
        1 => Just("HTTP/1.1 100 Continue\r\n\r\n"),
        1 => Just("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    ];
    let head = prop_oneof![Just("HTTP/1.1 200 OK\r\n"), Just("HTTP/1.0 200\r\nServer: a\r\n b\r\n")];
    let body = prop_oneof![
        vec(any::<u8>(), 0..200)
            .prop_map(|body| { [format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes(), body].concat() }),
        vec(vec(any::<u8>(), 1..50), 0..5).prop_map(|chunks| {
            let mut body = b"Transfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in chunks {
                body.extend(format!("{:x};a=\"b\"\r\n", chunk.len()).into_bytes());
                body.extend(chunk);
                body.extend(b"\r\n");
            }
            body.extend(b"0\r\nX-Sum: 1\r\n\r\n");
            body
        }),
    ];
    (interim, head, body).prop_map(|(interim, head, body)| [interim.as_bytes(), head.as_bytes(), &body].concat())
}

/// Answers, some of them sound, with bytes put in, taken out and changed.
fn spoilt() -> impl Strategy<Value = Vec<u8>> {
    let redirect = prop_oneof![
        Just(b"HTTP/1.1 302 Found\r\nLocation: /a#b\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 307 Go\r\nLocation: http://10.0.0.1:80/a?b\r\n\r\n".to_vec()),
    ];
    let edit = (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    let bytes = prop_oneof![4 => sound(), 1 => redirect, 1 => vec(any::<u8>(), 0..300)];
    (bytes, vec(edit, 0..4)).prop_map(|(mut bytes, edits)| {
        for (at, byte, kind) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes.insert(at, byte),
                1 => bytes[at] = byte,
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_sound_answer_passes_and_a_beginning_of_it_does_not(bytes in sound(), cuts in cuts(), end in any::<prop::sample::Index>()) {
        let get = get(json!({}));
        prop_assert_eq!(ask(&get, &bytes, &cuts), (Some(OutcomeClass::Passed), None));
        let beginning = &bytes[..end.index(bytes.len())];
        prop_assert_ne!(ask(&get, beginning, &cuts), (Some(OutcomeClass::Passed), None));
    }

    #[test]
    fn however_an_answer_is_cut_it_means_the_same(bytes in spoilt(), cuts in cuts(), max in 0..300_usize) {
        let get = get(json!({"maxBody": max, "redirects": "SameHost"}));
        let (class, to) = ask(&get, &bytes, &cuts);
        prop_assert_eq!((class, to.clone()), ask(&get, &bytes, &[]));
        prop_assert!(to.is_none_or(|to| to.starts_with('/') && to.bytes().all(|byte| byte.is_ascii_graphic())));
        prop_assert_ne!(class, Some(OutcomeClass::ProberError));
    }
}
