//! Over TLS.

use super::server::Step::{HalfClose, Hold, Reset};
use super::server::{acceptor, send, serve_tls, serve_whatever_is_sent};
use super::*;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const AUTHORITY: &str = include_str!("../tls/authority.pem");
const SERVER: &str = include_str!("../tls/server.pem");

fn https(address: SocketAddr, tls: Value) -> Target {
    http_with(address, json!({"scheme": "HTTPS", "tls": tls}))
}

#[tokio::test]
async fn good_servers_pass() {
    let mut running = JoinSet::new();
    for (name, certificate, tls) in [
        ("whoever it is", "server.pem", json!({})),
        ("whoever it was", "expired.pem", json!({})),
        ("whoever it is, by any name", "server.pem", json!({"serverName": "other.example"})),
        ("who it should be", "server.pem", json!({"serverName": "shop.example", "caBundle": AUTHORITY})),
        (
            "two that may sign",
            "server.pem",
            json!({"serverName": "shop.example", "caBundle": SERVER.to_owned() + AUTHORITY}),
        ),
    ] {
        let server = serve_tls(certificate, vec![send(OK), Hold]).await.unwrap();
        running.spawn(check(name, https(server, tls), Passed));
    }
    assert_none(running).await;
}

#[tokio::test]
async fn every_misbehaviour_gets_its_class_within_the_deadline() {
    let mut running = JoinSet::new();
    for (name, certificate, tls) in [
        ("another name", "server.pem", json!({"serverName": "other.example", "caBundle": AUTHORITY})),
        ("an old certificate", "expired.pem", json!({"serverName": "shop.example", "caBundle": AUTHORITY})),
        ("signed by nobody known", "server.pem", json!({"serverName": "shop.example", "caBundle": SERVER})),
    ] {
        let server = serve_tls(certificate, vec![send(OK), Hold]).await.unwrap();
        running.spawn(check(name, https(server, tls), BadCertificate));
    }
    let endless = "HTTP/1.1 200 OK\r\n\r\nok";
    for (name, steps, expected) in [
        ("a body that ends with a farewell", vec![send(endless), HalfClose, Hold], Passed),
        ("a body that ends without a farewell", vec![send(endless)], BadBody),
        ("a body that stalls", vec![send(endless), Hold], BadBody),
        ("an error", vec![send("HTTP/1.1 503 No\r\n\r\n"), Hold], bad_status(503)),
        ("silence", vec![Hold], NoResponse),
        ("no answer", vec![HalfClose, Hold], NoResponse),
        ("no answer and no farewell", vec![], NoResponse),
        ("a reset", vec![Reset], Refused),
    ] {
        let server = serve_tls("server.pem", steps).await.unwrap();
        running.spawn(check(name, https(server, json!({})), expected));
    }
    let plain = vec![send("HTTP/1.1 400 Bad Request\r\n\r\n"), Hold];
    for (name, steps, expected) in [
        ("an answer in plain text", plain, NoResponse),
        ("no handshake", vec![Hold], NoResponse),
        ("an end instead of a handshake", vec![HalfClose, Hold], NoResponse),
        ("a reset instead of a handshake", vec![Reset], Refused),
    ] {
        let server = serve_whatever_is_sent(steps).await.unwrap();
        running.spawn(check(name, https(server, json!({})), expected));
    }
    let server = serve_tls("server.pem", vec![send(OK), Hold]).await.unwrap();
    running.spawn(check("HTTP to a TLS server", http(server), NoResponse));
    assert_none(running).await;
}

#[tokio::test]
async fn a_server_is_asked_for_the_name_of_the_rule_or_for_none() {
    for name in [None, Some("shop.example")] {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let target = https(listener.local_addr().unwrap(), json!({"serverName": name}));
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor("server.pem", b"http/1.1").accept(stream).await.unwrap();
            stream.write_all(OK.as_bytes()).await.unwrap();
            stream.get_ref().1.server_name().map(str::to_owned)
        });
        assert_eq!(probe::attempt(&target, TIMEOUT).await.class, Passed);
        assert_eq!(server.await.unwrap().as_deref(), name);
    }
}
