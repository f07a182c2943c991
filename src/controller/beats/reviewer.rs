//! Whose a token is: the API server says, and is not asked again for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use ring::digest::{SHA256, digest};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Word;
use crate::api::BEATS_AUDIENCE as AUDIENCE;
use crate::cluster::records::{ObjectName, Uid};
use crate::engine::{Span, Time};
use crate::runtime::Clock;

/// For how long an answer of the API server counts.
const KNOWN_FOR: Span = Span::from_secs(60);
/// Tokens that are known at most.
const KNOWN: usize = 50_000;
/// Reviews under way at most; beyond that it is refused to wait for one.
const AT_ONCE: usize = 16;
/// From one beat of a pod to the next that counts.
const SHORTEST_GAP: Span = Span::from_millis(100);

/// A pod that has shown its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its name.
    pub pod: ObjectName,
    /// Which pod of that name.
    pub uid: Uid,
}

/// Why a token gives nobody the right to speak.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedToken {
    /// The API server does not accept it.
    #[error("the token is not valid for the audience {AUDIENCE}: mount one by a projected volume")]
    Invalid,
    /// It is somebody else's.
    #[error("the token belongs to no pod: mount one by a projected volume of the pod")]
    NotOfPod,
    /// It beat a moment ago.
    #[error("a pod's beats count ten times a second at most")]
    TooOften,
    /// Too many are asked about.
    #[error("too many tokens wait to be reviewed, try again")]
    Busy,
    /// The API server does not say.
    #[error("the token could not be reviewed: {0}")]
    Unknown(String),
}

/// Asks the API server about tokens.
pub struct Reviewer {
    reviews: Api<TokenReview>,
    clock: Clock,
    asking: Semaphore,
    known: Mutex<BTreeMap<Digest, Known>>,
}

/// Tokens themselves are not kept.
type Digest = [u8; 32];

struct Known {
    caller: Result<Caller, RefusedToken>,
    until: Time,
    beat: Option<Time>,
}

impl Reviewer {
    /// A reviewer that knows no token yet.
    pub fn new(client: Client, clock: Clock) -> Self {
        let (asking, known) = (Semaphore::new(AT_ONCE), Mutex::default());
        Self { reviews: Api::all(client), clock, asking, known }
    }

    /// The pod whose token it is, which is to be heard now.
    ///
    /// # Errors
    /// If it is no pod's, the pod beats and did so less than a tenth of a second ago, or the API server does not say
    /// whose it is within `patience`.
    pub async fn caller(&self, token: &str, word: Word, patience: Duration) -> Result<Caller, RefusedToken> {
        let digest = of(token);
        if let Some(answer) = self.recall(digest, word) {
            return answer;
        }
        let _turn = self.asking.try_acquire().map_err(|_| RefusedToken::Busy)?;
        let spec = TokenReviewSpec { audiences: Some(vec![AUDIENCE.to_owned()]), token: Some(token.to_owned()) };
        let review = TokenReview { spec, ..TokenReview::default() };
        let params = PostParams::default();
        let answer = timeout(patience, self.reviews.create(&params, &review)).await;
        let unknown = |error: &dyn std::fmt::Display| RefusedToken::Unknown(error.to_string());
        let answer = answer.map_err(|late| unknown(&late))?.map_err(|error| unknown(&error))?;
        self.learn(digest, caller(answer.status.unwrap_or_default()));
        self.recall(digest, word).unwrap_or(Err(RefusedToken::Busy))
    }

    fn recall(&self, digest: Digest, word: Word) -> Option<Result<Caller, RefusedToken>> {
        let now = self.clock.now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_mut(&digest).filter(|known| now < known.until)?;
        match word {
            Word::Beat if known.beat.is_some_and(|beat| now < beat + SHORTEST_GAP) => {
                return Some(Err(RefusedToken::TooOften));
            }
            Word::Beat => known.beat = Some(now),
            Word::Deregister => {}
        }
        Some(known.caller.clone())
    }

    fn learn(&self, digest: Digest, caller: Result<Caller, RefusedToken>) {
        let now = self.clock.now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.retain(|_, known| now < known.until);
        }
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(digest, Known { caller, until: now + KNOWN_FOR, beat: None });
    }
}

/// Whom the API server takes it for.
fn caller(status: TokenReviewStatus) -> Result<Caller, RefusedToken> {
    let is_for_us = status.audiences.iter().flatten().any(|audience| audience == AUDIENCE);
    if status.authenticated != Some(true) || !is_for_us {
        return Err(RefusedToken::Invalid);
    }
    let UserInfo { username, extra, .. } = status.user.unwrap_or_default();
    let account = username.as_deref().and_then(|name| name.strip_prefix("system:serviceaccount:"));
    let namespace = account.and_then(|account| account.split_once(':')).map(|(namespace, _)| namespace);
    let bound = |what: &str| {
        let values = extra.as_ref()?.get(&format!("authentication.kubernetes.io/{what}"))?;
        values.first().map(String::as_str)
    };
    match (namespace, bound("pod-name"), bound("pod-uid")) {
        (Some(namespace), Some(name), Some(uid)) => {
            Ok(Caller { pod: ObjectName::new(namespace, name), uid: Uid(uid.into()) })
        }
        _ => Err(RefusedToken::NotOfPod),
    }
}

fn of(token: &str) -> Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reviewed(status: serde_json::Value) -> Result<Caller, RefusedToken> {
        caller(serde_json::from_value(status).unwrap())
    }

    #[test]
    fn a_token_speaks_for_the_pod_that_it_is_bound_to_and_for_nobody_else() {
        let user = json!({
            "username": "system:serviceaccount:shop:default",
            "extra": {
                "authentication.kubernetes.io/pod-name": ["web-0"],
                "authentication.kubernetes.io/pod-uid": ["5f0c"],
            },
        });
        let good = json!({"authenticated": true, "audiences": [AUDIENCE], "user": user});
        let web = Caller { pod: ObjectName::new("shop", "web-0"), uid: Uid("5f0c".into()) };
        assert_eq!(reviewed(good.clone()), Ok(web));
        let changed = |field: &str, value: serde_json::Value| {
            let mut status = good.clone();
            status[field] = value;
            reviewed(status)
        };
        assert_eq!(changed("authenticated", json!(false)), Err(RefusedToken::Invalid));
        assert_eq!(changed("audiences", json!(["https://kubernetes.default.svc"])), Err(RefusedToken::Invalid));
        let unbound = json!({"username": "system:serviceaccount:shop:default"});
        assert_eq!(changed("user", unbound), Err(RefusedToken::NotOfPod));
        assert_eq!(changed("user", json!({"username": "admin"})), Err(RefusedToken::NotOfPod));
    }
}
