//! The beats by which a replica says over HTTP, to the controller itself, that it is there.

use std::path::PathBuf;

use hyper::Method;

use crate::api::BEATS;
use crate::runtime::request;

/// Where it beats, and by what right.
pub struct Post {
    /// Where controllers listen, as host and port.
    pub controller: String,
    /// The file with the pod's token. It is read for every beat: the kubelet renews it.
    pub token: PathBuf,
}

impl Post {
    /// Says that the replica is there. A beat that does not arrive is lost, as beats may be.
    pub async fn beat(&self) {
        self.say(Method::POST).await;
    }

    /// Says that the replica goes. If that does not arrive, its last beat runs out by itself.
    pub async fn leave(&self) {
        self.say(Method::DELETE).await;
    }

    async fn say(&self, method: Method) {
        if let Ok(token) = tokio::fs::read_to_string(&self.token).await {
            let token = format!("Bearer {}", token.trim());
            let _ = request::ask(method, &self.controller, BEATS, &[("authorization", &token)]).await;
        }
    }
}
