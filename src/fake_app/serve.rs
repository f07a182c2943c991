//! One replica: answers as its true state would have it.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio_util::sync::CancellationToken;

use super::clock::{self, until};
use super::lease::PodLease;
use super::post::Post;
use super::presence::listen_while_there;
use super::registry::{Beat, Directory};
use super::script::{Script, Truth};
use super::store::{Shared, Write};
use crate::scenario::{Condition, Endpoint, Store, Stores, TrueState};

/// What a process may still answer after it was asked to end.
const DRAIN: Duration = Duration::from_millis(200);

/// What a replica has around it.
#[derive(Default)]
pub struct Surroundings {
    /// The host's name, in a cluster the pod's.
    pub host: Option<String>,
    /// Where the shared stores are; without them the script says what they would.
    pub stores: Option<String>,
    /// Where the registry is that it beats to.
    pub registry: Option<String>,
    /// The Lease that it renews.
    pub lease: Option<PodLease>,
    /// How it beats to the controller.
    pub post: Option<Post>,
}

/// Plays the script on a socket until the script reopens the replica, or SIGTERM ends the process. A stuck process
/// accepts connections, answers nothing but `/truth`, and ignores SIGTERM. While the script has the process stopped,
/// connections are refused.
///
/// `terminate` is SIGTERM as it arrives; whoever listens for it does so before the process can be found.
pub async fn serve(script: Script, around: Surroundings, listener: TcpListener, terminate: Signal) -> io::Result<()> {
    let address = listener.local_addr()?;
    let app = Arc::new(App { script, host: around.host, stores: around.stores.map(Shared) });
    let registry = around.registry.map(|registry| {
        let name = app.host.clone().unwrap_or_else(|| address.to_string());
        Place::Registry(Directory(registry), Beat { name, port: address.port() })
    });
    let lease = around.lease.map(|lease| Place::Lease(Arc::new(lease)));
    let post = around.post.map(|post| Place::Post(Arc::new(post)));
    let places: Vec<Place> = [registry, lease, post].into_iter().flatten().collect();
    let closing = CancellationToken::new();
    let mut listening = pin!(listen_while_there(&app.script, routes(app.clone()), listener, &closing));
    tokio::select! {
        ended = &mut listening => return ended,
        () = asked_to_end(&app, terminate) => {}
        () = reopening(&app.script) => {}
        () = beat(&app.script, &places) => {}
    }
    closing.cancel();
    let leaving = async {
        for place in &places {
            place.leave().await;
        }
    };
    let end = async { tokio::join!(listening, leaving).0 };
    tokio::time::timeout(DRAIN, end).await.unwrap_or(Ok(()))
}

/// Where a replica says that it is there.
#[derive(Clone)]
enum Place {
    Registry(Directory, Beat),
    Lease(Arc<PodLease>),
    Post(Arc<Post>),
}

impl Place {
    async fn beat(&self) {
        match self {
            Self::Registry(directory, beat) => directory.beat(beat).await,
            Self::Lease(lease) => lease.renew().await,
            Self::Post(post) => post.beat().await,
        }
    }

    async fn leave(&self) {
        match self {
            Self::Registry(directory, beat) => directory.leave(&beat.name).await,
            Self::Lease(lease) => lease.give_up().await,
            Self::Post(post) => post.leave().await,
        }
    }
}

/// The replica as the handlers see it.
struct App {
    script: Script,
    host: Option<String>,
    stores: Option<Shared>,
}

impl App {
    fn condition(&self) -> Condition {
        self.script.condition(clock::now())
    }

    fn truth(&self) -> Truth {
        self.script.truth(clock::now(), self.host.clone())
    }

    /// The stores as they have to be known for an endpoint's answer.
    async fn stores(&self, endpoint: Endpoint) -> Stores {
        let mut stores = Stores::UP;
        for store in Store::ALL {
            // Only an endpoint that would answer otherwise without the store looks at it.
            let matters = !endpoint.says_yes(Condition::HEALTHY, Stores::without(store));
            if matters && !self.is_up(store).await {
                stores = stores | Stores::without(store);
            }
        }
        stores
    }

    async fn is_up(&self, store: Store) -> bool {
        match &self.stores {
            Some(shared) => shared.is_up(store).await,
            None => self.script.stores(clock::now()).up(store),
        }
    }
}

fn routes(app: Arc<App>) -> Router {
    let probes = Endpoint::WITH_PATH.into_iter().filter(|endpoint| *endpoint != Endpoint::Request);
    let router = probes.fold(Router::new(), |router, endpoint| {
        let path = endpoint.path().unwrap_or_default();
        router.route(path, get(move |app| probe(app, endpoint)))
    });
    router
        .route("/request", get(request))
        .route("/read", get(request))
        .route("/write", post(write))
        .route("/batch", post(batch))
        .route("/truth", get(truth))
        .with_state(app)
}

async fn probe(State(app): State<Arc<App>>, endpoint: Endpoint) -> Response {
    let condition = awake(&app).await;
    let status = yes_if(endpoint.says_yes(condition, app.stores(endpoint).await));
    (status, format!("{}\n", condition.state())).into_response()
}

/// The work itself, plain or a read.
async fn request(State(app): State<Arc<App>>) -> Response {
    let condition = awake(&app).await;
    answer(&app, condition, condition.can_read())
}

/// A write goes on to the store. A half-down replica accepts it all the same, and loses it.
async fn write(State(app): State<Arc<App>>, Query(write): Query<Write>) -> Response {
    let condition = awake(&app).await;
    let done = condition.can_read()
        && (condition.is(TrueState::HalfDown)
            || match &app.stores {
                Some(stores) => stores.write(write).await,
                None => app.is_up(Store::State).await,
            });
    answer(&app, condition, done)
}

/// A batch job needs the billing store, and any process that answers.
async fn batch(State(app): State<Arc<App>>) -> Response {
    let condition = awake(&app).await;
    let done = app.is_up(Store::Billing).await;
    answer(&app, condition, done)
}

/// For measuring only.
async fn truth(State(app): State<Arc<App>>) -> Json<Truth> {
    Json(app.truth())
}

/// The condition of a process that can answer at all.
async fn awake(app: &App) -> Condition {
    let condition = app.condition();
    if condition.is_up() || condition.state() == TrueState::Starting { condition } else { pending().await }
}

fn answer(app: &App, condition: Condition, done: bool) -> Response {
    (yes_if(done), Json(Truth { state: condition.state(), ..app.truth() })).into_response()
}

fn yes_if(yes: bool) -> StatusCode {
    if yes { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Ends when the process heeds SIGTERM.
async fn asked_to_end(app: &App, mut terminate: Signal) {
    while terminate.recv().await.is_some() {
        if app.condition().state() != TrueState::Stuck {
            return;
        }
    }
    pending().await
}

/// Ends when the script reopens the replica.
async fn reopening(script: &Script) {
    match script.ends_at() {
        Some(end) => until(end).await,
        None => pending().await,
    }
}

/// Beats wherever it is to, as the script has it. Never ends.
async fn beat(script: &Script, places: &[Place]) {
    if places.is_empty() {
        return pending().await;
    }
    let mut now = clock::now();
    loop {
        let (beat, leave) = (script.next_beat(now), script.next_leave(now));
        let Some(next) = beat.into_iter().chain(leave).min() else { return pending().await };
        until(next).await;
        now = next;
        let (beats, leaves) = (beat == Some(next) && script.beats(next), leave == Some(next));
        for place in places {
            let place = place.clone();
            // On its own, so that a slow registry delays no further beat.
            tokio::spawn(async move {
                if beats {
                    place.beat().await;
                }
                if leaves {
                    place.leave().await;
                }
            });
        }
    }
}
