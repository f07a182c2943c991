//! Attempts against real sockets that misbehave: each ends in the right class, within the deadline.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its stage has failed")]

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use probe_policy::engine::{OutcomeClass, Span};
use probe_policy::probe::{self, Ask, HttpGet, Loopback, STARVED_AFTER, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

const TIMEOUT: Span = Span::from_secs(1);

/// What a server does once it has read the request.
#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    /// A packet for each of the pieces, one every so many milliseconds.
    Trickle(Vec<&'static str>, u64),
    /// The same bytes over and over, thousands at once.
    SendForever(&'static [u8]),
    /// Ends its side only, and keeps reading.
    HalfClose,
    /// Keeps the connection open until the other side ends it.
    Hold,
    Reset,
}

use OutcomeClass::{BadBody, BadStatus, ConnectTimeout, NoResponse, Passed, Refused};
use Step::{HalfClose, Hold, Reset, SendForever, Trickle};

fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// The whole table runs at once, so it takes the timeout once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_misbehaviour_gets_its_class_within_the_deadline() {
    let huge_header = [b"HTTP/1.1 200 OK\r\nX-Huge: ".to_vec(), vec![b'a'; 10 << 20], b"\r\n\r\n".to_vec()].concat();
    let many_headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1000));
    let long_head = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\nContent-Length: 2\r\n\r\nok", "a".repeat(12 << 10));
    let chunked = |body: &str| send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}"));
    let hold_after = |text: &str| vec![send(text), Hold];

    let rows: Vec<(&str, Vec<Step>, OutcomeClass)> = vec![
        // Good answers, in every form that the protocol allows
        ("a body of the declared length", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")], Passed),
        ("the declared length, then held open", hold_after("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Passed),
        ("more than the declared length", hold_after("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay"), Passed),
        ("a body that ends with the connection", vec![send("HTTP/1.0 200 OK\r\n\r\nok")], Passed),
        ("no body at all", vec![send("HTTP/1.1 200 OK\r\n\r\n")], Passed),
        ("a status without a body, then held open", hold_after("HTTP/1.1 204 No Content\r\n\r\n"), Passed),
        ("the highest good status", hold_after("HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n"), Passed),
        ("a status line without a reason", hold_after("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), Passed),
        ("line feeds only", hold_after("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), Passed),
        ("chunks with trailers", vec![chunked("2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"), Hold], Passed),
        ("a head longer than one read", hold_after(&long_head), Passed),
        (
            "an answer split over packets",
            vec![Trickle(vec!["HTT", "P/1.1 20", "0 OK\r", "\nContent-Leng", "th: 2\r\n\r", "\no", "k"], 5), Hold],
            Passed,
        ),
        (
            "interim answers first",
            hold_after(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            ),
            Passed,
        ),
        (
            "its side ended after the answer",
            vec![send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), HalfClose, Hold],
            Passed,
        ),
        ("a body for ever", vec![send("HTTP/1.1 200 OK\r\n\r\n"), SendForever(b"all is well ")], Passed),
        ("a chunk for ever", vec![chunked("FFFFFFFFFFFFFFFF\r\n"), SendForever(b"all is well ")], Passed),
        ("chunks for ever", vec![chunked(""), SendForever(b"1\r\na\r\n")], Passed),
        // Bad statuses
        ("an error", hold_after("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\n"), status(503)),
        ("a redirect", hold_after("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"), status(302)),
        ("not modified", hold_after("HTTP/1.1 304 Not Modified\r\n\r\n"), status(304)),
        ("switching protocols", hold_after("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), status(101)),
        (
            "an interim answer, then an error",
            hold_after("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n\r\n"),
            status(500),
        ),
        // Bodies that never become good
        ("a body that stalls", hold_after("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), BadBody),
        ("a body that never begins", hold_after("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), BadBody),
        ("a body without an end that stalls", hold_after("HTTP/1.1 200 OK\r\n\r\nok"), BadBody),
        (
            "a body of one byte at a time",
            vec![send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"), Trickle(vec!["a"; 99], 300)],
            BadBody,
        ),
        ("less than the declared length", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")], BadBody),
        ("a reset within the body", vec![send("HTTP/1.1 200 OK\r\n\r\nok"), Reset], BadBody),
        ("a chunk that breaks off", vec![chunked("5\r\nok")], BadBody),
        ("chunks without a last one", vec![chunked("2\r\nok\r\n")], BadBody),
        ("chunks that stall", vec![chunked("2\r\nok\r\n"), Hold], BadBody),
        ("chunking that is none", vec![chunked("ok\r\n"), Hold], BadBody),
        ("a chunk longer than its size", vec![chunked("2\r\nokay\r\n0\r\n\r\n"), Hold], BadBody),
        ("a chunk size beyond counting", vec![chunked("10000000000000000\r\n"), Hold], BadBody),
        (
            "lengths that contradict each other",
            hold_after("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
            BadBody,
        ),
        // No answer, or none in this protocol
        ("silence", vec![Hold], NoResponse),
        ("an end without an answer", vec![HalfClose, Hold], NoResponse),
        ("an empty answer", vec![], NoResponse),
        ("a head that stalls", hold_after("HTTP/1.1 200 OK\r\nContent-"), NoResponse),
        ("a head that breaks off", vec![send("HTTP/1.1 200 OK\r\n")], NoResponse),
        ("a head of one byte at a time", vec![Trickle(vec!["H", "T", "T", "P", "/", "1"], 300)], NoResponse),
        ("a header of 10 MB", vec![send(huge_header), Hold], NoResponse),
        ("a header for ever", vec![send("HTTP/1.1 200 OK\r\nX: "), SendForever(b"a")], NoResponse),
        ("a thousand headers", hold_after(&many_headers), NoResponse),
        ("interim answers for ever", vec![SendForever(b"HTTP/1.1 100 Continue\r\n\r\n")], NoResponse),
        ("zeros for ever", vec![SendForever(&[0; 512])], NoResponse),
        ("line feeds for ever", vec![SendForever(b"\r\n")], NoResponse),
        ("HTTP/0.9", vec![send("ok")], NoResponse),
        ("HTTP/2 settings", vec![send(b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64"), Hold], NoResponse),
        ("HTTP/2 in the status line", hold_after("HTTP/2 200\r\n\r\n"), NoResponse),
        ("a TLS alert", vec![send(b"\x15\x03\x01\0\x02\x02\x46"), Hold], NoResponse),
        ("a status of four digits", hold_after("HTTP/1.1 2000 OK\r\n\r\n"), NoResponse),
        ("a reset", vec![Reset], Refused),
        ("a reset within the head", vec![send("HTTP/1.1 200 OK\r\n"), Reset], Refused),
    ];

    let mut running = JoinSet::new();
    for (name, steps, expected) in rows {
        let server = serve(steps).await.unwrap();
        running.spawn(check(name, http(server), expected));
    }
    let (refusing, _port) = refusing().await.unwrap();
    running.spawn(check("HTTP to a port where nobody listens", http(refusing), Refused));
    running.spawn(check("TCP to a port where nobody listens", tcp(refusing), Refused));
    let (full, _queue) = never_accepting().await.unwrap();
    running.spawn(check("HTTP to a full accept queue", http(full), ConnectTimeout));
    running.spawn(check("TCP to a full accept queue", tcp(full), ConnectTimeout));
    let silent = serve(vec![Hold]).await.unwrap();
    running.spawn(check("TCP to a server that never answers", tcp(silent), Passed));

    let wrong: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_attempt_ends_its_connection_by_a_reset() {
    for ask in [Ask::Http(HttpGet::new("/", None).unwrap()), Ask::Tcp] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let target = Target::new(listener.local_addr().unwrap(), ask, Loopback::Allowed).unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
            stream.read_to_end(&mut Vec::new()).await
        });
        assert_eq!(probe::attempt(&target, TIMEOUT).await.class, Passed);
        assert_eq!(server.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}

#[tokio::test]
async fn ipv6_is_asked_as_ipv4_is() {
    let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(accept_all(listener, vec![send("HTTP/1.1 204 No Content\r\n\r\n"), Hold]));
    assert_eq!(probe::attempt(&http(address), TIMEOUT).await.class, Passed);
    assert_eq!(probe::attempt(&tcp(address), TIMEOUT).await.class, Passed);
}

/// A complaint if the outcome is another, or comes too late.
async fn check(name: &'static str, target: Target, expected: OutcomeClass) -> Option<String> {
    let outcome = probe::attempt(&target, TIMEOUT).await;
    let right = outcome.class == expected && outcome.took <= TIMEOUT + STARVED_AFTER;
    (!right).then(|| format!("{name}: expected {expected:?}, found {:?} after {}", outcome.class, outcome.took))
}

const fn status(status: u16) -> OutcomeClass {
    BadStatus { status }
}

fn http(address: SocketAddr) -> Target {
    Target::new(address, Ask::Http(HttpGet::new("/live", None).unwrap()), Loopback::Allowed).unwrap()
}

fn tcp(address: SocketAddr) -> Target {
    Target::new(address, Ask::Tcp, Loopback::Allowed).unwrap()
}

/// The address of a server that goes through `steps` on every connection.
async fn serve(steps: Vec<Step>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept_all(listener, steps));
    Ok(address)
}

async fn accept_all(listener: TcpListener, steps: Vec<Step>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(go_through(stream, steps.clone()));
    }
}

/// The client may be gone at any step, which is its right.
async fn go_through(mut stream: TcpStream, steps: Vec<Step>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    for step in steps {
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Trickle(pieces, pause) => {
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await?;
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            }
            Step::SendForever(bytes) => {
                let many = bytes.repeat(4096 / bytes.len());
                loop {
                    stream.write_all(&many).await?;
                }
            }
            Step::HalfClose => stream.shutdown().await?,
            Step::Hold => {
                stream.read_to_end(&mut Vec::new()).await?;
            }
            Step::Reset => stream.set_zero_linger()?,
        }
    }
    Ok(())
}

/// An address that refuses connections, and the socket that keeps the port from being given to anybody else.
async fn refusing() -> io::Result<(SocketAddr, TcpSocket)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    Ok((socket.local_addr()?, socket))
}

/// An address whose accept queue is full for as long as the sockets live.
async fn never_accepting() -> io::Result<(SocketAddr, (TcpListener, TcpStream))> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = socket.listen(0)?;
    let address = listener.local_addr()?;
    let queued = TcpStream::connect(address).await?;
    Ok((address, (listener, queued)))
}
