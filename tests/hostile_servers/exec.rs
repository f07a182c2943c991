//! Commands, through an API server that misbehaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{SinkExt, StreamExt};
use kube::Config;
use probe_policy::cluster::Clients;
use probe_policy::probe::Commands;
use tokio::sync::Semaphore;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::server::Step::{HalfClose, Hold};
use super::server::{refusing, send, serve};
use super::*;

/// What the API server sends over the connection of a command.
#[derive(Clone, Debug)]
enum Word {
    /// How the command ended.
    Status(Value),
    /// So many bytes of its errors.
    Errors(usize),
    /// The end of the connection.
    End,
}

use Word::{End, Errors, Status};

/// The channels of a command's connection.
const ERRORS: u8 = 2;
const STATUS: u8 = 3;

#[tokio::test]
async fn every_end_gets_its_class_within_the_deadline() {
    let success = || Status(json!({"status": "Success"}));
    let failure = |reason: &str, causes: Value| {
        Status(json!({"status": "Failure", "reason": reason, "message": "no", "details": {"causes": causes}}))
    };
    let exit = |code: &str| failure("NonZeroExitCode", json!([{"reason": "ExitCode", "message": code}]));
    let mut running = JoinSet::new();
    for (name, words, expected) in [
        ("exit code 0", vec![success()], Passed),
        ("exit code 0 after complaints", vec![Errors(60_000), success()], Passed),
        ("exit code 3", vec![exit("3")], BadExit { code: 3 }),
        ("never an end", vec![], NoResponse),
        ("a gigabyte of complaints", vec![Errors(1 << 30)], NoResponse),
        ("a program that is not there", vec![failure("InternalError", json!([]))], ProberError),
        ("a connection that is lost", vec![End], ProberError),
    ] {
        let (server, _) = serve_commands(words).await.unwrap();
        running.spawn(check(name, command(server), expected));
    }
    for (name, steps) in [
        ("no right to do so", vec![send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), Hold]),
        ("an API server that is silent", vec![Hold]),
        ("an API server that hangs up", vec![HalfClose]),
    ] {
        running.spawn(check(name, command(serve(steps).await.unwrap()), ProberError));
    }
    let (refusing, _port) = refusing().await.unwrap();
    running.spawn(check("an API server that is not there", command(refusing), ProberError));
    assert_none(running).await;
}

#[tokio::test]
async fn no_more_than_sixteen_run_at_once() {
    let (server, run) = serve_commands(vec![]).await.unwrap();
    let commands = commands(server);
    let mut running = JoinSet::new();
    for _ in 0..16 {
        let target = inside(&commands);
        running.spawn(async move { probe::attempt(&target, TIMEOUT).await.class });
    }
    let _all = run.begun.acquire_many(16).await.unwrap();
    let waiting = probe::attempt(&inside(&commands), Span::from_millis(100)).await;
    assert_eq!((waiting.class, run.count.load(Ordering::SeqCst)), (ProberError, 16));
    assert_eq!(running.join_all().await, [NoResponse; 16]);
}

/// A command at an API server of its own.
fn command(server: SocketAddr) -> Target {
    inside(&commands(server))
}

fn commands(server: SocketAddr) -> Commands {
    let config = Config::new(format!("http://{server}").parse().unwrap());
    Commands::new(Clients::new(config).unwrap().runner)
}

fn inside(commands: &Commands) -> Target {
    let Handler::Exec(exec) = handler(json!({"exec": {"command": ["true"]}})) else { unreachable!() };
    Target::inside(&exec, commands.container("shop", "shop-0", "app"))
}

/// The commands that an API server was asked for.
struct Run {
    count: AtomicUsize,
    begun: Semaphore,
}

/// The address of an API server that says `words` of every command.
async fn serve_commands(words: Vec<Word>) -> io::Result<(SocketAddr, Arc<Run>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let run = Arc::new(Run { count: AtomicUsize::new(0), begun: Semaphore::new(0) });
    let asked = Arc::clone(&run);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (asked, words) = (Arc::clone(&asked), words.clone());
            tokio::spawn(async move {
                let Ok(connection) = accept_hdr_async(stream, speak_fifth_version).await else { return };
                asked.count.fetch_add(1, Ordering::SeqCst);
                asked.begun.add_permits(1);
                say(connection, words).await;
            });
        }
    });
    Ok((address, run))
}

#[expect(clippy::result_large_err, reason = "the library's type")]
fn speak_fifth_version(_: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    response.headers_mut().insert("sec-websocket-protocol", "v5.channel.k8s.io".parse().unwrap());
    Ok(response)
}

/// The client may be gone at any word, which is its right.
async fn say(mut connection: WebSocketStream<TcpStream>, words: Vec<Word>) {
    for word in words {
        let sent = match word {
            Status(status) => connection.send(on(STATUS, status.to_string().as_bytes())).await,
            Errors(bytes) => {
                let mut sent = Ok(());
                for _ in 0..bytes.div_ceil(30_000) {
                    sent = sent.and(connection.send(on(ERRORS, &[b'a'; 30_000])).await);
                    if sent.is_err() {
                        break;
                    }
                }
                sent
            }
            End => return,
        };
        if sent.is_err() {
            return;
        }
    }
    while connection.next().await.is_some_and(|message| message.is_ok()) {}
}

fn on(channel: u8, bytes: &[u8]) -> Message {
    Message::binary([&[channel][..], bytes].concat())
}
