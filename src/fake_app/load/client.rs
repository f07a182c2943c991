//! The requests themselves, over connections that are used once or kept open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::Connections;
use super::fleet::Fleet;
use super::line::{Outcome, Outlived};
use super::plan::ms;
use crate::fake_app::Truth;

/// The longest answer that is read.
const MAX_ANSWER: usize = 64 << 10;

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client {
    connections: Connections,
    timeout: Duration,
    open: Arc<Mutex<Open>>,
}

/// The connections that are open, and what became of those whose pod was ejected.
#[derive(Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, Connection>,
    idle: BTreeMap<String, Sender>,
    outlived: Outlived,
}

/// An open connection.
#[derive(Default)]
struct Connection {
    /// The pod at its other end, once that is known.
    pod: Option<String>,
    /// When that pod was ejected, if it is out now.
    ejected: Option<Instant>,
}

/// The near end of a connection; dropping it closes the connection.
struct Sender {
    id: u64,
    send: SendRequest<Body>,
}

/// What came back.
pub(super) struct Answer {
    /// How it went.
    pub outcome: Outcome,
    /// What the replica said of itself.
    pub truth: Option<Truth>,
}

impl Client {
    /// A client for requests that may take so long.
    pub fn new(connections: Connections, timeout: Duration) -> Self {
        Self { connections, timeout, open: Arc::default() }
    }

    /// Asks for `path` at an address. `pod` is who is there, where the caller knows.
    pub async fn ask(&self, address: &str, pod: Option<&str>, method: Method, path: &str) -> Answer {
        match timeout(self.timeout, self.exchange(address, pod, method, path)).await {
            Ok(Ok((StatusCode::OK, truth))) => Answer { outcome: Outcome::Served, truth },
            Ok(Ok((_, truth))) => Answer { outcome: Outcome::NotServing, truth },
            Ok(Err(outcome)) => Answer { outcome, truth: None },
            Err(_) => Answer { outcome: Outcome::TimedOut, truth: None },
        }
    }

    /// Takes note of who is in the pool now.
    pub fn pool_is(&self, fleet: &Fleet) {
        let now = Instant::now();
        let open = &mut *self.open();
        for connection in open.connections.values_mut() {
            let Some(pod) = &connection.pod else { continue };
            match (fleet.has_ready(pod), connection.ejected) {
                (true, Some(_)) => connection.settle(&mut open.outlived),
                (false, None) => connection.ejected = Some(now),
                (true, None) | (false, Some(_)) => {}
            }
        }
    }

    /// How many connections are open to pods that are not in the pool.
    pub fn outliving(&self) -> usize {
        self.open().connections.values().filter(|connection| connection.ejected.is_some()).count()
    }

    /// What became of connections whose pod was ejected; those that are still open end now.
    pub fn outlived(&self) -> Outlived {
        let open = &mut *self.open();
        for connection in open.connections.values_mut() {
            connection.settle(&mut open.outlived);
        }
        open.outlived
    }

    async fn exchange(
        &self,
        address: &str,
        pod: Option<&str>,
        method: Method,
        path: &str,
    ) -> Result<(StatusCode, Option<Truth>), Outcome> {
        let mut sender = match self.idle(address) {
            Some(sender) => sender,
            None => self.connect(address, pod).await?,
        };
        let request = Request::builder().method(method).uri(path).header("host", address).body(Body::empty());
        let request = request.map_err(|_| Outcome::Refused)?;
        let response = sender.send.send_request(request).await.map_err(|_| Outcome::Broken)?;
        let status = response.status();
        let body = to_bytes(Body::new(response.into_body()), MAX_ANSWER).await.map_err(|_| Outcome::Broken)?;
        let truth: Option<Truth> = serde_json::from_slice(&body).ok();
        if let Connections::KeptOpen = self.connections {
            self.open().keep(address, sender, truth.as_ref().and_then(|truth| truth.host.clone()));
        }
        Ok((status, truth))
    }

    async fn connect(&self, address: &str, pod: Option<&str>) -> Result<Sender, Outcome> {
        let stream = TcpStream::connect(address).await.map_err(|_| Outcome::Refused)?;
        let (send, connection) = handshake(TokioIo::new(stream)).await.map_err(|_| Outcome::Broken)?;
        let id = self.open().opened(pod.map(str::to_owned));
        let client = self.clone();
        tokio::spawn(async move {
            // How a connection ends is told by the request that it breaks.
            let _ = connection.await;
            client.open().ended(id);
        });
        Ok(Sender { id, send })
    }

    fn idle(&self, address: &str) -> Option<Sender> {
        self.open().idle.remove(address).filter(|sender| sender.send.is_ready())
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn opened(&mut self, pod: Option<String>) -> u64 {
        self.next += 1;
        self.connections.insert(self.next, Connection { pod, ejected: None });
        self.next
    }

    fn ended(&mut self, id: u64) {
        if let Some(mut connection) = self.connections.remove(&id) {
            connection.settle(&mut self.outlived);
        }
    }

    /// One idle connection to an address is enough; a second one is closed.
    fn keep(&mut self, address: &str, sender: Sender, host: Option<String>) {
        if let Some(connection) = self.connections.get_mut(&sender.id) {
            connection.pod = connection.pod.take().or(host);
        }
        self.idle.entry(address.to_owned()).or_insert(sender);
    }
}

impl Connection {
    /// Counts the ejection that it has outlived, if there was one.
    fn settle(&mut self, outlived: &mut Outlived) {
        if let Some(ejected) = self.ejected.take() {
            outlived.connections += 1;
            outlived.longest_ms = outlived.longest_ms.max(ms(ejected.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::fake_app::load::fleet::Member;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

    fn client(connections: Connections) -> Client {
        Client::new(connections, Duration::from_secs(20))
    }

    /// The pool with or without the one pod.
    fn pool(ready: bool) -> Fleet {
        Fleet::new(vec![Member { pod: "app-0".into(), address: "a".into(), ready }])
    }

    async fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    /// Answers one request on a connection.
    async fn answer(stream: &mut TcpStream) {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(ANSWER).await.unwrap();
    }

    #[tokio::test]
    async fn a_kept_connection_is_used_again() {
        let (listener, address) = listen().await;
        let client = client(Connections::KeptOpen);
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream).await;
            answer(&mut stream).await;
            stream
        };
        let requests = async {
            for _ in 0..2 {
                assert_eq!(client.ask(&address, None, Method::GET, "/request").await.outcome, Outcome::Served);
            }
        };
        tokio::join!(server, requests);
    }

    #[tokio::test]
    async fn a_connection_that_outlives_an_ejection_is_counted_once_until_it_ends() {
        let (listener, address) = listen().await;
        let client = client(Connections::KeptOpen);
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream).await;
            stream
        };
        let (stream, _) = tokio::join!(server, client.ask(&address, Some("app-0"), Method::GET, "/request"));
        client.pool_is(&pool(true));
        assert_eq!(client.outliving(), 0);
        client.pool_is(&pool(false));
        client.pool_is(&pool(false));
        assert_eq!(client.outliving(), 1);
        drop(stream);
        while client.outliving() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(client.outlived().connections, 1);
    }

    #[tokio::test]
    async fn a_pod_that_is_admitted_again_ends_the_count() {
        let (listener, address) = listen().await;
        let client = client(Connections::KeptOpen);
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            answer(&mut stream).await;
            stream
        };
        let _open = tokio::join!(server, client.ask(&address, Some("app-0"), Method::GET, "/request"));
        client.pool_is(&pool(false));
        client.pool_is(&pool(true));
        assert_eq!((client.outliving(), client.outlived().connections), (0, 1));
    }

    #[tokio::test]
    async fn a_request_that_times_out_closes_its_connection() {
        let (listener, address) = listen().await;
        let client = Client::new(Connections::KeptOpen, Duration::from_millis(50));
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_to_end(&mut Vec::new()).await
        };
        let (closed, answer) = tokio::join!(server, client.ask(&address, None, Method::GET, "/request"));
        assert_eq!((closed.is_ok(), answer.outcome), (true, Outcome::TimedOut));
    }
}
