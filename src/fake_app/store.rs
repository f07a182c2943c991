//! The stores that all replicas share, in one process: it takes writes while the script lets the state store be up,
//! and says what it holds to whoever measures.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use hyper::Method;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::clock;
use super::script::Timing;
use crate::runtime::request;
use crate::scenario::{Store, Stores};

/// One write, by the turn it was sent in and its number in that turn, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Write {
    /// The turn.
    pub turn: u32,
    /// The number.
    pub n: u32,
}

/// Serves the stores for as long as it is polled.
pub async fn serve(timing: Timing, listener: TcpListener) -> io::Result<()> {
    let held = Arc::new(Held { timing, writes: Mutex::default() });
    let routes = Router::new()
        .route("/up/{store}", get(up))
        .route("/write", post(write))
        .route("/held", get(all))
        .with_state(held);
    axum::serve(listener, routes).await
}

/// Where the stores are, for those who use them.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub String);

impl Shared {
    /// Whether a store says that it is up. One that does not answer is not.
    pub async fn is_up(&self, store: Store) -> bool {
        self.says_yes(Method::GET, &format!("/up/{}", store.name())).await
    }

    /// Writes; whether that was done.
    pub async fn write(&self, write: Write) -> bool {
        self.says_yes(Method::POST, &format!("/write?turn={}&n={}", write.turn, write.n)).await
    }

    /// Every write that is held.
    ///
    /// # Errors
    /// If the stores cannot be asked.
    pub async fn held(&self) -> io::Result<BTreeSet<Write>> {
        let (_, body) = request::ask(Method::GET, &self.0, "/held", &[]).await?;
        Ok(serde_json::from_slice(&body)?)
    }

    async fn says_yes(&self, method: Method, path: &str) -> bool {
        request::ask(method, &self.0, path, &[]).await.is_ok_and(|(status, _)| status == StatusCode::OK)
    }
}

struct Held {
    timing: Timing,
    writes: Mutex<BTreeSet<Write>>,
}

impl Held {
    fn stores(&self) -> Stores {
        self.timing.stores(clock::now())
    }
}

async fn up(State(held): State<Arc<Held>>, Path(store): Path<Store>) -> StatusCode {
    yes_if(held.stores().up(store))
}

async fn write(State(held): State<Arc<Held>>, Query(write): Query<Write>) -> StatusCode {
    let up = held.stores().up(Store::State);
    if up {
        held.writes.lock().unwrap_or_else(PoisonError::into_inner).insert(write);
    }
    yes_if(up)
}

/// For measuring only.
async fn all(State(held): State<Arc<Held>>) -> Json<BTreeSet<Write>> {
    Json(held.writes.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn yes_if(up: bool) -> StatusCode {
    if up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}
