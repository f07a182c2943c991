//! Between a controller and the API server: it sees when a gate's write is sent. `kubectl proxy` behind it adds TLS and
//! the rights.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probe_policy::engine::Time;
use probe_policy::runtime::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

const PROXY: &str = "127.0.0.1:18091";

/// The relay and its proxy, which end with the value.
pub struct Relay {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    proxy: Child,
}

#[derive(Default)]
struct Seen {
    /// When the first write of each pod was sent.
    written: BTreeMap<usize, Time>,
    writes: u64,
}

impl Relay {
    /// Starts it.
    pub async fn start(clock: Clock) -> Self {
        let (_, port) = PROXY.split_once(':').unwrap();
        let mut command = Command::new("kubectl");
        let proxy =
            command.args(["proxy", "--port", port]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while TcpStream::connect(PROXY).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Seen::default())));
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(relay(stream, clock, shared.clone()));
            }
        });
        Self { address, seen, proxy }
    }

    /// Where a controller reaches it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to count anew.
    pub fn forget(&self) {
        *self.seen.lock().unwrap() = Seen::default();
    }

    /// How many gates were written.
    pub fn writes(&self) -> u64 {
        self.seen.lock().unwrap().writes
    }

    /// When a pod's gate was first written.
    pub fn written(&self, pod: usize) -> Option<Time> {
        self.seen.lock().unwrap().written.get(&pod).copied()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

async fn relay(stream: TcpStream, clock: Clock, seen: Arc<Mutex<Seen>>) {
    let Ok(proxy) = TcpStream::connect(PROXY).await else { return };
    let ((mut from, mut back), (mut answers, mut to)) = (stream.into_split(), proxy.into_split());
    let answering = tokio::spawn(async move { copy(&mut answers, &mut back).await });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if let Some(pod) = written(&buffer[..read]) {
            let mut seen = seen.lock().unwrap();
            seen.writes += 1;
            seen.written.entry(pod).or_insert_with(|| clock.now());
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    answering.abort();
}

/// The pod whose gate a request writes. A request begins with what is read: none is sent before the last is answered.
fn written(request: &[u8]) -> Option<usize> {
    let line = request.strip_prefix(b"PATCH /api/v1/namespaces/fleet/pods/app-")?;
    let end = line.iter().position(|byte| *byte == b'/')?;
    std::str::from_utf8(&line[..end]).ok()?.parse().ok()
}
