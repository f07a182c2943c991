//! Over plain HTTP and TCP.

use super::server::Step::{self, HalfClose, Hold, Reset, SendForever, Trickle};
use super::server::{accept_all, assert_little_is_read, never_accepting, refusing, send, serve, serve_by};
use super::*;

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
        ("an error", hold_after("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\n"), bad_status(503)),
        ("a redirect", hold_after("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"), bad_status(302)),
        ("not modified", hold_after("HTTP/1.1 304 Not Modified\r\n\r\n"), bad_status(304)),
        (
            "switching protocols",
            hold_after("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
            bad_status(101),
        ),
        (
            "an interim answer, then an error",
            hold_after("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n\r\n"),
            bad_status(500),
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

    assert_none(running).await;
}

const FAILING: &str = r#"{"checks": {"disk": [{"status": "fail", "scope": "path"}]}}"#;

/// What the rule says beside where, and what a server answers.
#[tokio::test]
async fn the_rule_says_what_passes() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    let status = |status: u16| format!("HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n");
    let unchanged = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n";
    let health = json!({"health": {"scopes": ["Path"]}, "expectedStatuses": ["200", "503"]});
    let mut running = JoinSet::new();
    for (name, settings, answer, expected) in [
        ("nothing of the body", json!({"maxBody": 0}), head.to_owned(), Passed),
        ("as much of the body as is there", json!({"maxBody": 2}), format!("{head}ok"), Passed),
        ("more of the body than is there", json!({"maxBody": 3}), format!("{head}ok"), BadBody),
        ("an expected status", json!({"expectedStatuses": ["204", "400-499"]}), status(401), Passed),
        ("one that is not", json!({"expectedStatuses": ["204", "400-499"]}), status(200), bad_status(200)),
        (
            "what the body says",
            health,
            format!("HTTP/1.1 503 No\r\nContent-Length: {}\r\n\r\n{FAILING}", FAILING.len()),
            NotServing,
        ),
        (
            "a body that is cut off",
            json!({"health": {"scopes": ["Path"]}, "maxBody": 1}),
            format!("{head}{{}}"),
            BadBody,
        ),
        ("an expected status without a body", json!({"expectedStatuses": ["304"]}), unchanged.to_owned(), Passed),
        ("an expected redirect", json!({"expectedStatuses": ["302"], "redirects": "SameHost"}), status(302), Passed),
    ] {
        let server = serve(vec![send(answer), Hold]).await.unwrap();
        running.spawn(check(name, http_with(server, settings), expected));
    }
    assert_none(running).await;
}

#[tokio::test]
async fn redirects_are_followed_only_if_they_stay_with_the_host() {
    let elsewhere = serve(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Hold]).await.unwrap();
    let server = serve_by(move |path| {
        let redirect = |to: &str| vec![send(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n")), Hold];
        match path {
            "/first" => redirect("/second"),
            "/second" => redirect("/third#part"),
            "/third" => vec![send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Hold],
            "/ring" => redirect("/ring"),
            "/stalls" => redirect("/silence"),
            "/elsewhere" => redirect(&format!("http://{elsewhere}/")),
            "/metadata" => redirect("http://169.254.169.254/latest/meta-data/"),
            _ => vec![Hold],
        }
    })
    .await
    .unwrap();
    let mut running = JoinSet::new();
    for (path, redirects, expected) in [
        ("/first", "SameHost", Passed),
        ("/first", "None", bad_status(302)),
        ("/ring", "SameHost", bad_status(302)),
        ("/stalls", "SameHost", NoResponse),
        ("/elsewhere", "SameHost", bad_status(302)),
        ("/metadata", "SameHost", bad_status(302)),
    ] {
        let target = http_with(server, json!({"path": path, "redirects": redirects}));
        running.spawn(check(path, target, expected));
    }
    assert_none(running).await;
}

#[tokio::test]
async fn what_is_sent_for_ever_is_not_read_for_ever() {
    let bodies = [("HTTP/1.1 200 OK\r\nX: ", "a header"), ("HTTP/1.1 200 OK\r\n\r\n", "a body")];
    for (head, what) in bodies {
        assert_little_is_read(what, http, head.as_bytes(), b"a").await;
    }
}

#[tokio::test]
async fn an_attempt_ends_its_connection_by_a_reset() {
    for ask in [http, tcp] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let target = ask(listener.local_addr().unwrap());
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
async fn of_two_addresses_either_is_enough_or_both_have_to_pass() {
    let good = serve(vec![send("HTTP/1.1 204 No Content\r\n\r\n"), Hold]).await.unwrap();
    let bad = serve(vec![send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), Hold]).await.unwrap();
    let silent = serve(vec![Hold]).await.unwrap();
    let get = handler(json!({"httpGet": {"port": 80}}));
    let mut running = JoinSet::new();
    for (name, sockets, expected) in [
        ("either, the first", Sockets::Either(good, bad), Passed),
        ("either, the second", Sockets::Either(bad, good), Passed),
        ("either, while the first is silent", Sockets::Either(silent, good), Passed),
        ("either, none", Sockets::Either(silent, bad), NoResponse),
        ("both", Sockets::Both(good, good), Passed),
        ("both, not the first", Sockets::Both(bad, good), bad_status(503)),
        ("both, not the second", Sockets::Both(good, bad), bad_status(503)),
        ("both, the second is silent", Sockets::Both(good, silent), NoResponse),
    ] {
        running.spawn(check(name, Target::new(&get, sockets, Loopback::Allowed).unwrap(), expected));
    }
    assert_none(running).await;
}

#[tokio::test]
async fn ipv6_is_asked_as_ipv4_is() {
    let listener = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(accept_all(listener, |_| vec![send("HTTP/1.1 204 No Content\r\n\r\n"), Hold]));
    assert_eq!(probe::attempt(&http(address), TIMEOUT).await.class, Passed);
    assert_eq!(probe::attempt(&tcp(address), TIMEOUT).await.class, Passed);
}

/// The tests over again, in a process whose environment names a proxy at which nobody listens.
#[test]
fn proxies_in_the_environment_are_ignored() {
    let mut again = Command::new(env::current_exe().unwrap());
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        again.env(name, "http://127.0.0.1:1");
    }
    let run = again.args(["--exact", "http::ipv6_is_asked_as_ipv4_is", "https::good_servers_pass"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("2 passed"), "{said}");
}
