//! One server that is all the pods.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use probe_policy::engine::Time;
use probe_policy::runtime::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{PORT, address};

const FINE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
const BROKEN: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";

/// The server. Clones are the same one.
#[derive(Clone)]
pub struct Targets {
    clock: Clock,
    book: Arc<Mutex<Book>>,
}

struct Book {
    by_address: BTreeMap<IpAddr, usize>,
    health: Vec<Health>,
    /// When it first gave a bad answer since it was made to fail.
    failed: Vec<Option<Time>>,
    requests: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    Failing,
    /// It fails every other time, and passes this time.
    FlapsGood,
    /// It fails every other time, and this time.
    FlapsBad,
}

impl Targets {
    /// Serves until the program ends.
    pub async fn serve(pods: usize, clock: Clock) -> Self {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).await.unwrap();
        let book = Book {
            by_address: (0..pods).map(|pod| (address(pod).into(), pod)).collect(),
            health: vec![Health::Fine; pods],
            failed: vec![None; pods],
            requests: 0,
        };
        let targets = Self { clock, book: Arc::new(Mutex::new(book)) };
        let served = targets.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().answer(stream));
            }
        });
        targets
    }

    /// How many requests there were.
    pub fn requests(&self) -> u64 {
        self.book().requests
    }

    /// From now on a pod fails.
    pub fn fail(&self, pod: usize) {
        self.book().health[pod] = Health::Failing;
    }

    /// From now on every pod fails every other time.
    pub fn flap(&self) {
        self.book().health.fill(Health::FlapsBad);
    }

    /// From now on every pod passes.
    pub fn heal(&self) {
        let mut book = self.book();
        book.health.fill(Health::Fine);
        book.failed.fill(None);
    }

    /// When a pod first gave a bad answer.
    pub fn failed(&self, pod: usize) -> Option<Time> {
        self.book().failed[pod]
    }

    async fn answer(self, mut stream: TcpStream) {
        let mut buffer = [0; 1024];
        if stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
            let answer = stream.local_addr().map_or(BROKEN, |address| self.book().answer(address, self.clock.now()));
            // Whoever asked may have gone.
            let _ = stream.write_all(answer).await;
            let _ = stream.read(&mut buffer).await;
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }
}

impl Book {
    fn answer(&mut self, address: SocketAddr, now: Time) -> &'static [u8] {
        self.requests += 1;
        let Some(pod) = self.by_address.get(&address.ip()) else { return BROKEN };
        let health = self.health[*pod];
        self.health[*pod] = match health {
            Health::Fine | Health::Failing => health,
            Health::FlapsGood => Health::FlapsBad,
            Health::FlapsBad => Health::FlapsGood,
        };
        match health {
            Health::Fine | Health::FlapsGood => FINE,
            Health::Failing | Health::FlapsBad => {
                self.failed[*pod].get_or_insert(now);
                BROKEN
            }
        }
    }
}
