//! What the process answers about itself: `/metrics`, `/healthz`, `/readyz` and `/state`. A process that does not
//! lead answers too, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State as Shared;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::sync::{mpsc, oneshot};

use super::metrics::Metrics;
use super::state::State;
use crate::engine::{Span, Time};
use crate::runtime::Clock;

/// A question to the loop: what do you believe now?
pub type Question = oneshot::Sender<State>;

/// Without a turn for so long, the loop counts as stuck. It turns at least once a second.
const STUCK_AFTER: Span = Span::from_secs(10);

/// How long the loop may take to say what it believes.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// What the endpoints answer from.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// Where the loop takes questions.
    pub questions: mpsc::Sender<Question>,
    /// When the loop last turned.
    pub pulse: Pulse,
    /// What has been counted.
    pub metrics: Metrics,
}

/// When the loop last turned. Clones tell the same.
#[derive(Clone, Debug)]
pub struct Pulse {
    clock: Clock,
    last: Arc<AtomicU64>,
}

impl Pulse {
    /// A loop that turns for the first time now.
    pub fn new(clock: Clock) -> Self {
        Self { clock, last: Arc::new(AtomicU64::new(clock.now().as_nanos())) }
    }

    /// The loop turns.
    pub fn beat(&self) {
        self.last.store(self.clock.now().as_nanos(), Ordering::Relaxed);
    }

    fn age(&self) -> Span {
        self.clock.now().since(Time::from_nanos(self.last.load(Ordering::Relaxed)))
    }
}

/// The routes.
pub fn router(endpoints: Endpoints) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/state", get(state))
        .with_state(endpoints)
}

async fn metrics(Shared(endpoints): Shared<Endpoints>) -> Response {
    let state = endpoints.ask().await;
    match endpoints.metrics.encode(state) {
        Ok(text) => {
            let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, open_metrics)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn healthz(Shared(endpoints): Shared<Endpoints>) -> Response {
    let age = endpoints.pulse.age();
    if age < STUCK_AFTER {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("the loop has not turned for {age}\n")).into_response()
}

async fn readyz(Shared(endpoints): Shared<Endpoints>) -> Response {
    let Some(state) = endpoints.ask().await else { return no_answer() };
    let missing: Vec<_> = state.watches.iter().filter(|watch| !watch.listed).map(|watch| watch.kind).collect();
    if missing.is_empty() {
        return "ok\n".into_response();
    }
    let waiting = format!("waiting for the first list of {}\n", missing.join(", "));
    (StatusCode::SERVICE_UNAVAILABLE, waiting).into_response()
}

async fn state(Shared(endpoints): Shared<Endpoints>) -> Response {
    match endpoints.ask().await {
        Some(state) => Json(state).into_response(),
        None => no_answer(),
    }
}

fn no_answer() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the loop does not answer\n").into_response()
}

impl Endpoints {
    async fn ask(&self) -> Option<State> {
        let (answer, state) = oneshot::channel();
        let asked = async {
            self.questions.send(answer).await.ok()?;
            state.await.ok()
        };
        tokio::time::timeout(ANSWER_WITHIN, asked).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;
    use crate::cluster::{Index, Scope};
    use crate::controller::elect::Standing;

    #[tokio::test]
    async fn a_process_that_does_not_lead_answers_and_says_who_does() {
        let (status, text) = answer(|endpoints| state(Shared(endpoints))).await;
        let state: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, &state["leader"]), (StatusCode::OK, &false.into()));
        assert_eq!(state["lease"]["holder"], "alice");
    }

    #[tokio::test]
    async fn before_the_first_lists_are_complete_it_is_not_ready_and_says_what_is_missing() {
        let (status, text) = answer(|endpoints| readyz(Shared(endpoints))).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.starts_with("waiting for the first list of probepolicies, pods"), "{text}");
    }

    #[tokio::test]
    async fn metrics_end_as_open_metrics_asks() {
        let (status, text) = answer(|endpoints| metrics(Shared(endpoints))).await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("\nprobe_policy_leader 0\n") && text.ends_with("# EOF\n"), "{text}");
    }

    /// What is answered while a loop that does not lead takes the questions.
    async fn answer<F: Future<Output = Response>>(ask: impl FnOnce(Endpoints) -> F) -> (StatusCode, String) {
        let (sender, mut questions) = mpsc::channel::<Question>(1);
        let pulse = Pulse::new(Clock::start());
        let endpoints = Endpoints { questions: sender, pulse, metrics: Metrics::new() };
        let believe = async {
            while let Some(question) = questions.recv().await {
                let standing = Standing { tenure: None, holder: Some("alice".to_owned()) };
                let index = Index::new(&Scope::Cluster);
                question.send(State::new(&index, None, standing, Time::ZERO)).unwrap();
            }
        };
        let (response, ()) = tokio::join!(ask(endpoints), believe);
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}
