//! One replica: answers as its true state would have it.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use k8s_openapi::jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;

use super::clock;
use super::script::{Script, Truth};
use crate::scenario::{Condition, Endpoint, Stores, TrueState};

/// What a process may still answer after it was asked to end.
const DRAIN: Duration = Duration::from_millis(200);

/// The longest sleep between two looks at the wall clock, which may be stepped meanwhile.
const LOOK: Duration = Duration::from_millis(500);

/// Plays the script on a socket until the script reopens the replica, or SIGTERM ends the process. A stuck process
/// accepts connections, answers nothing but `/truth`, and ignores SIGTERM.
///
/// `terminate` is SIGTERM as it arrives; whoever listens for it does so before the process can be found.
pub async fn serve(
    script: Script,
    host: Option<String>,
    listener: TcpListener,
    mut terminate: Signal,
) -> std::io::Result<()> {
    let app = Arc::new(App { script, host });
    let end = {
        let app = app.clone();
        async move {
            let asked = async {
                while terminate.recv().await.is_some() {
                    if app.condition().state() != TrueState::Stuck {
                        return;
                    }
                }
                pending().await
            };
            tokio::select! {
                () = asked => {}
                () = reopening(&app.script) => {}
            }
        }
    };
    let (ending, ended) = tokio::sync::oneshot::channel();
    let server = axum::serve(listener, routes(app)).with_graceful_shutdown(async move {
        end.await;
        let _ = ending.send(());
    });
    tokio::select! {
        result = async { server.await } => result,
        () = drained(ended) => Ok(()),
    }
}

/// The replica as the handlers see it.
struct App {
    script: Script,
    host: Option<String>,
}

impl App {
    fn condition(&self) -> Condition {
        self.script.condition(clock::now())
    }

    fn stores(&self) -> Stores {
        self.script.stores(clock::now())
    }

    fn truth(&self) -> Truth {
        self.script.truth(clock::now(), self.host.clone())
    }
}

fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/started", get(|app| probe(app, Endpoint::Started)))
        .route("/live", get(|app| probe(app, Endpoint::Live)))
        .route("/ready", get(|app| probe(app, Endpoint::Ready)))
        .route("/request", get(request))
        .route("/truth", get(truth))
        .with_state(app)
}

async fn probe(State(app): State<Arc<App>>, endpoint: Endpoint) -> Response {
    let condition = awake(&app).await;
    (status(endpoint, condition, app.stores()), format!("{}\n", condition.state())).into_response()
}

/// The work itself.
async fn request(State(app): State<Arc<App>>) -> Response {
    let condition = awake(&app).await;
    let truth = Truth { state: condition.state(), ..app.truth() };
    (status(Endpoint::Request, condition, app.stores()), Json(truth)).into_response()
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

fn status(endpoint: Endpoint, condition: Condition, stores: Stores) -> StatusCode {
    if endpoint.says_yes(condition, stores) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Ends when the script reopens the replica.
async fn reopening(script: &Script) {
    let Some(end) = script.ends_at() else { return pending().await };
    while let Some(left) = time_left(end) {
        tokio::time::sleep(left.min(LOOK)).await;
    }
}

fn time_left(end: Timestamp) -> Option<Duration> {
    Duration::try_from(end.duration_since(clock::now())).ok().filter(|left| !left.is_zero())
}

/// Ends when the time to drain is over.
async fn drained(ended: impl Future) {
    ended.await;
    tokio::time::sleep(DRAIN).await;
}
