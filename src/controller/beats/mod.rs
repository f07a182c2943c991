//! Beats over HTTP: a pod says by a request that it is there, or that it goes, and shows the token that it was given for
//! that. Every controller takes them; one that does not lead passes them on to the one that does.

mod reviewer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::api::BEATS;
use crate::runtime::request;

pub use reviewer::{Caller, RefusedToken, Reviewer};

/// Says that a request has been passed on once, which is often enough.
const PASSED_ON: &str = "probe-policy-passed-on";

/// How long anything may take that an answer waits for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a pod says of itself, on its way to the loop.
#[derive(Debug)]
pub struct Said {
    /// Who says it.
    pub caller: Caller,
    /// What.
    pub word: Word,
    /// Where the loop answers.
    pub answer: oneshot::Sender<Heard>,
}

/// What a pod may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// It is there.
    Beat,
    /// It goes.
    Deregister,
}

/// What the loop does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The engine has heard it.
    Taken,
    /// No policy with a heartbeat rule keeps that pod.
    NotAsked,
    /// The controller there leads.
    PassOn(SocketAddr),
    /// Nobody is known to lead.
    NobodyLeads,
}

/// What the endpoint answers from.
pub struct Desk {
    /// Where the loop takes what is said.
    pub said: mpsc::Sender<Said>,
    /// Who knows the tokens.
    pub reviewer: Reviewer,
}

/// The route.
pub fn router(desk: Desk) -> Router {
    let beat = post(|State(desk): State<Arc<Desk>>, headers: HeaderMap| take(desk, headers, Word::Beat));
    let both = beat.delete(|State(desk): State<Arc<Desk>>, headers: HeaderMap| take(desk, headers, Word::Deregister));
    Router::new().route(BEATS, both).with_state(Arc::new(desk))
}

async fn take(desk: Arc<Desk>, headers: HeaderMap, word: Word) -> Response {
    let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let Some(token) = token else {
        return refused(StatusCode::UNAUTHORIZED, "a pod shows its token: Authorization: Bearer TOKEN");
    };
    let caller = match desk.reviewer.caller(token, word, PATIENCE).await {
        Ok(caller) => caller,
        Err(error) => return refused(status(&error), &error.to_string()),
    };
    match desk.say(caller, word).await {
        Some(Heard::Taken) => StatusCode::NO_CONTENT.into_response(),
        Some(Heard::NotAsked) => {
            refused(StatusCode::NOT_FOUND, "no policy with a heartbeat rule keeps this pod, as far as is known here")
        }
        Some(Heard::PassOn(leader)) if !headers.contains_key(PASSED_ON) => pass_on(leader, token, word).await,
        Some(Heard::PassOn(_) | Heard::NobodyLeads) => {
            refused(StatusCode::SERVICE_UNAVAILABLE, "nobody leads now, beat again")
        }
        None => refused(StatusCode::SERVICE_UNAVAILABLE, "the loop does not answer"),
    }
}

async fn pass_on(leader: SocketAddr, token: &str, word: Word) -> Response {
    let method = match word {
        Word::Beat => Method::POST,
        Word::Deregister => Method::DELETE,
    };
    let token = format!("Bearer {token}");
    let headers = [(AUTHORIZATION.as_str(), token.as_str()), (PASSED_ON, "1")];
    match request::ask(method, &leader.to_string(), BEATS, &headers).await {
        Ok((status, said)) => (status, said).into_response(),
        Err(error) => refused(StatusCode::BAD_GATEWAY, &format!("the leader at {leader} does not answer: {error}")),
    }
}

impl Desk {
    async fn say(&self, caller: Caller, word: Word) -> Option<Heard> {
        let (answer, heard) = oneshot::channel();
        self.said.try_send(Said { caller, word, answer }).ok()?;
        timeout(PATIENCE, heard).await.ok()?.ok()
    }
}

fn status(error: &RefusedToken) -> StatusCode {
    match error {
        RefusedToken::Invalid => StatusCode::UNAUTHORIZED,
        RefusedToken::NotOfPod => StatusCode::FORBIDDEN,
        RefusedToken::TooOften => StatusCode::TOO_MANY_REQUESTS,
        RefusedToken::Busy | RefusedToken::Unknown(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn refused(status: StatusCode, sentence: &str) -> Response {
    (status, format!("{sentence}\n")).into_response()
}
