//! The registry, in a process of its own: replicas beat to it, and those who send requests ask it who is there.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, Query, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::Method;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::engine::Span;
use crate::registry::Registry;
use crate::runtime::{Clock, request};

/// A replica, as the registry lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its name.
    pub name: String,
    /// Where it listens: at the address that its beats come from.
    pub address: SocketAddr,
}

/// A replica, as it tells of itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Beat {
    /// Its name.
    pub name: String,
    /// The port that it listens at.
    pub port: u16,
}

/// Serves a registry whose entries live so long, for as long as it is polled.
pub async fn serve(time_to_live: Span, listener: TcpListener) -> io::Result<()> {
    let entries = Entries { registry: Registry::new(time_to_live), addresses: BTreeMap::new(), clock: Clock::start() };
    let routes = Router::new()
        .route("/beat", post(beat))
        .route("/leave", post(leave))
        .route("/list", get(list))
        .with_state(Arc::new(Mutex::new(entries)));
    axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>()).await
}

/// Where the registry is, for those who use it.
#[derive(Clone, Debug)]
pub(super) struct Directory(pub String);

impl Directory {
    /// Says that a replica is there. A beat that does not arrive is lost, as beats may be.
    pub async fn beat(&self, Beat { name, port }: &Beat) {
        let _ = request::ask(Method::POST, &self.0, &format!("/beat?name={name}&port={port}"), &[]).await;
    }

    /// Takes a replica's entry out. If that does not arrive, the entry dies by itself.
    pub async fn leave(&self, name: &str) {
        let _ = request::ask(Method::POST, &self.0, &format!("/leave?name={name}"), &[]).await;
    }

    /// Who is there, in the order of their first registration.
    ///
    /// # Errors
    /// If the registry cannot be asked, or does not answer within `patience`.
    pub async fn list(&self, patience: Duration) -> io::Result<Vec<Entry>> {
        let (_, body) = timeout(patience, request::ask(Method::GET, &self.0, "/list", &[])).await??;
        Ok(serde_json::from_slice(&body)?)
    }
}

struct Entries {
    registry: Registry<String>,
    addresses: BTreeMap<String, SocketAddr>,
    clock: Clock,
}

type Shared = Arc<Mutex<Entries>>;

#[derive(Deserialize)]
struct Name {
    name: String,
}

async fn beat(
    State(entries): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Query(Beat { name, port }): Query<Beat>,
) {
    let mut entries = locked(&entries);
    let now = entries.clock.now();
    entries.registry.beat(name.clone(), now);
    entries.addresses.insert(name, SocketAddr::new(from.ip(), port));
}

async fn leave(State(entries): State<Shared>, Query(Name { name }): Query<Name>) {
    locked(&entries).registry.leave(&name);
}

async fn list(State(entries): State<Shared>) -> Json<Vec<Entry>> {
    let entries = locked(&entries);
    let listed = entries.registry.resolve(entries.clock.now()).into_iter();
    Json(listed.filter_map(|name| Some(Entry { address: *entries.addresses.get(&name)?, name })).collect())
}

fn locked(entries: &Mutex<Entries>) -> MutexGuard<'_, Entries> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}
