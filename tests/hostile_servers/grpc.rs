//! gRPC health.

use std::future::pending;
use std::io::Cursor;

use ::http::{HeaderMap, Response};
use h2::SendStream;
use h2::server::SendResponse;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::server::Step::{HalfClose, Hold, Reset};
use super::server::{acceptor, assert_little_is_read, refusing, send, serve_tls, serve_whatever_is_sent};
use super::*;

/// What a health service does with a call.
#[derive(Clone, Debug)]
enum Act {
    /// Answers at once, by the head alone, with the number of an error.
    Refuse(&'static str),
    /// Begins an answer with an HTTP status.
    Head(u16),
    Data(&'static [u8]),
    /// More than a client may take.
    Flood,
    /// Ends the answer with a number, or without one.
    End(Option<&'static str>),
    /// Ends the connection, with HTTP/2's own farewell or without.
    Leave,
    Break,
}

use Act::{Break, Data, End, Flood, Head, Leave, Refuse};

const SERVING: Act = Data(b"\0\0\0\0\x02\x08\x01");
const NOT_SERVING: Act = Data(b"\0\0\0\0\x02\x08\x02");
const UNKNOWN: Act = Data(b"\0\0\0\0\0");

fn grpc(address: SocketAddr, mut settings: Value) -> Target {
    settings["port"] = 80.into();
    target(address, json!({"grpc": settings}))
}

#[tokio::test]
async fn every_answer_gets_its_class_within_the_deadline() {
    let good = || vec![Head(200), SERVING, End(Some("0"))];
    let not_serving = || vec![Head(200), NOT_SERVING, End(Some("0"))];
    let mut running = JoinSet::new();
    for (name, settings, acts, expected) in [
        ("serving", json!({}), good(), Passed),
        ("serving, which is not what is asked", json!({"accept": ["NotServing"]}), good(), NotServing),
        ("not serving", json!({}), not_serving(), NotServing),
        ("not serving, which will do", json!({"accept": ["Serving", "NotServing"]}), not_serving(), Passed),
        ("who knows", json!({}), vec![Head(200), UNKNOWN, End(Some("0"))], NotServing),
        ("who knows, which will do", json!({"accept": ["Unknown"]}), vec![Head(200), UNKNOWN, End(Some("0"))], Passed),
        ("no health service", json!({}), vec![Refuse("12")], BadCall { code: 12 }),
        ("no such service", json!({"service": "shop"}), vec![Refuse("5")], BadCall { code: 5 }),
        ("a call that fails late", json!({}), vec![Head(200), End(Some("14"))], BadCall { code: 14 }),
        (
            "a call that fails with an answer",
            json!({}),
            vec![Head(200), SERVING, End(Some("13"))],
            BadCall { code: 13 },
        ),
        ("a number that is none", json!({}), vec![Head(200), End(Some("none"))], BadCall { code: 2 }),
        ("another kind of server", json!({}), vec![Head(404), End(None)], bad_status(404)),
        ("no word how it went", json!({}), vec![Head(200), SERVING, End(None)], BadBody),
        ("no message", json!({}), vec![Head(200), End(Some("0"))], BadBody),
        ("another message", json!({}), vec![Head(200), Data(b"ok"), End(Some("0"))], BadBody),
        ("a message that stalls", json!({}), vec![Head(200), Data(b"\0\0\0")], BadBody),
        ("a message for ever", json!({}), vec![Head(200), Flood], BadBody),
        ("a connection lost in the answer", json!({}), vec![Head(200), Break], BadBody),
        ("silence", json!({}), vec![], NoResponse),
        ("a farewell", json!({}), vec![Leave], NoResponse),
        ("an end", json!({}), vec![Break], NoResponse),
    ] {
        let server = serve_health(None, acts).await.unwrap();
        running.spawn(check(name, grpc(server, settings), expected));
    }
    let http1 = send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    for (name, steps, expected) in [
        ("an HTTP/1 server", vec![http1, Hold], NoResponse),
        ("nothing at all", vec![Hold], NoResponse),
        ("an end at once", vec![HalfClose, Hold], NoResponse),
        ("a reset at once", vec![Reset], Refused),
    ] {
        let server = serve_whatever_is_sent(steps).await.unwrap();
        running.spawn(check(name, grpc(server, json!({})), expected));
    }
    let (refusing, _port) = refusing().await.unwrap();
    running.spawn(check("a port where nobody listens", grpc(refusing, json!({})), Refused));
    assert_none(running).await;
}

#[tokio::test]
async fn over_tls_it_is_the_same() {
    const AUTHORITY: &str = include_str!("../tls/authority.pem");
    let good = || vec![Head(200), SERVING, End(Some("0"))];
    let verified = |name: &str| json!({"tls": {"serverName": name, "caBundle": AUTHORITY}});
    let mut running = JoinSet::new();
    for (name, settings, expected) in [
        ("whoever it is", json!({"tls": {}}), Passed),
        ("who it should be", verified("shop.example"), Passed),
        ("another", verified("other.example"), BadCertificate),
        ("plain text to a TLS server", json!({}), NoResponse),
    ] {
        let server = serve_health(Some(acceptor("server.pem", b"h2")), good()).await.unwrap();
        running.spawn(check(name, grpc(server, settings), expected));
    }
    let plain = serve_health(None, good()).await.unwrap();
    running.spawn(check("TLS to a plain server", grpc(plain, json!({"tls": {}})), NoResponse));
    let http1 = serve_tls("server.pem", vec![Hold]).await.unwrap();
    running.spawn(check("a server of HTTP/1 over TLS", grpc(http1, json!({"tls": {}})), NoResponse));
    assert_none(running).await;
}

#[tokio::test]
async fn frames_that_are_sent_for_ever_are_not_read_for_ever() {
    const SETTINGS: [u8; 9] = frame(4, 0, 0, 0);
    // `:status: 200` by its number in the static table.
    let begun = |flags| [&frame(1, 1, flags, 1)[..], b"\x88"].concat();
    let with = |frame: [u8; 9], payload: &[u8]| [&frame[..], payload].concat();
    for (what, head, more) in [
        ("settings", vec![], SETTINGS.to_vec()),
        ("pings", vec![], with(frame(6, 8, 0, 0), &[0; 8])),
        ("window updates", vec![], with(frame(8, 4, 0, 0), &[0, 0, 0, 1])),
        ("frames that nobody knows", vec![], frame(0xee, 0, 0, 0).to_vec()),
        ("headers that do not end", begun(0), with(frame(9, 5, 0, 1), b"\0\x01a\x01b")),
        ("empty data", begun(4), frame(0, 0, 0, 1).to_vec()),
    ] {
        let head = [&SETTINGS[..], &head].concat();
        assert_little_is_read(what, |address| grpc(address, json!({})), &head, &more).await;
    }
}

/// The head of an HTTP/2 frame.
const fn frame(kind: u8, length: u8, flags: u8, stream: u8) -> [u8; 9] {
    [0, 0, length, kind, flags, 0, 0, 0, stream]
}

/// The address of a health service that does `acts` with the only call it gets.
async fn serve_health(tls: Option<TlsAcceptor>, acts: Vec<Act>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        match tls {
            None => answer(stream, acts).await,
            Some(acceptor) => match acceptor.accept(stream).into_fallible().await {
                Ok(stream) => answer(stream, acts).await,
                Err((_, mut stream)) => {
                    // Holds what is left of the connection, since an end might come as a reset.
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                    Ok(())
                }
            },
        }
    });
    Ok(address)
}

/// The client may be gone at any time, which is its right.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, acts: Vec<Act>) -> Result<(), h2::Error> {
    let mut connection = h2::server::Builder::new().handshake(stream).await?;
    let Some(call) = connection.accept().await else { return Ok(()) };
    let (_, respond) = call?;
    if let [Leave] = acts[..] {
        connection.abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM);
        return std::future::poll_fn(|context| connection.poll_closed(context)).await;
    }
    // The connection only moves while it is polled, and whoever answers a ping has got what was sent before it.
    let mut ping_pong = connection.ping_pong().unwrap();
    let acting = async {
        act(respond, acts).await?;
        ping_pong.ping(h2::Ping::opaque()).await.map(drop)
    };
    tokio::select! {
        ended = acting => ended,
        _ = connection.accept() => Ok(()),
    }
}

async fn act(mut respond: SendResponse<Cursor<Vec<u8>>>, acts: Vec<Act>) -> Result<(), h2::Error> {
    let ends = matches!(acts.last(), Some(Break));
    let mut stream: Option<SendStream<_>> = None;
    for act in acts {
        match (act, &mut stream) {
            (Refuse(code), _) => {
                let head = Response::builder().header("grpc-status", code).body(()).unwrap();
                respond.send_response(head, true)?;
            }
            (Head(status), _) => {
                let head = Response::builder().status(status).body(()).unwrap();
                stream = Some(respond.send_response(head, false)?);
            }
            (Data(bytes), Some(stream)) => stream.send_data(Cursor::new(bytes.to_vec()), false)?,
            (Flood, Some(stream)) => stream.send_data(Cursor::new(vec![0; 1 << 20]), false)?,
            (End(None), Some(stream)) => stream.send_data(Cursor::new(Vec::new()), true)?,
            (End(Some(code)), Some(stream)) => {
                let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), code.parse().unwrap())]);
                stream.send_trailers(trailers)?;
            }
            (Data(_) | Flood | End(_), None) | (Leave | Break, _) => {}
        }
    }
    if ends { Ok(()) } else { pending().await }
}
