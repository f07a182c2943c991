//! The attempts in flight.

use std::num::NonZeroU16;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::api::Handler;
use crate::cluster::Index;
use crate::engine::{AttemptId, Incarnation, Outcome, OutcomeClass, PolicyKey, Span};
use crate::probe::{self, Ask, HttpGet, Loopback, Target};

/// An attempt that ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Which.
    pub attempt: AttemptId,
    /// The policy whose rule asked.
    pub policy: PolicyKey,
    /// How.
    pub outcome: Outcome,
}

/// The attempts in flight; dropping this ends them all.
#[derive(Debug)]
pub struct Attempts {
    running: JoinSet<Ended>,
    slots: Arc<Semaphore>,
}

impl Attempts {
    /// None yet, and never more than `limit` at once: the others wait their turn.
    pub fn new(limit: NonZeroU16) -> Self {
        Self { running: JoinSet::new(), slots: Arc::new(Semaphore::new(limit.get().into())) }
    }

    /// Begins an attempt that takes at most `timeout`. What cannot be asked at all ends at once, as our own fault.
    pub fn start(
        &mut self,
        index: &Index,
        attempt: AttemptId,
        policy: PolicyKey,
        incarnation: Incarnation,
        timeout: Span,
    ) {
        let target = target(index, attempt, policy, incarnation);
        let slots = Arc::clone(&self.slots);
        self.running.spawn(async move {
            let outcome = match (target, slots.acquire().await) {
                (Some(target), Ok(_slot)) => probe::attempt(&target, timeout).await,
                (None, _) | (_, Err(_)) => Outcome { class: OutcomeClass::ProberError, took: Span::ZERO },
            };
            Ended { attempt, policy, outcome }
        });
    }

    /// The next attempt that ends. Never returns while there is none.
    pub async fn ended(&mut self) -> Ended {
        loop {
            match self.running.join_next().await {
                Some(Ok(ended)) => return ended,
                Some(Err(error)) => tracing::error!(%error, "an attempt broke"),
                None => std::future::pending().await,
            }
        }
    }

    /// An attempt that has ended already.
    pub fn try_ended(&mut self) -> Option<Ended> {
        loop {
            match self.running.try_join_next()? {
                Ok(ended) => return Some(ended),
                Err(error) => tracing::error!(%error, "an attempt broke"),
            }
        }
    }
}

/// Where the attempt goes, if the container is still the one it was decided for.
fn target(index: &Index, attempt: AttemptId, policy: PolicyKey, incarnation: Incarnation) -> Option<Target> {
    index.container_id(attempt.replica, incarnation)?;
    let (address, handler) = index.attempt_target(attempt.replica, policy, attempt.rule)?;
    let ask = match handler {
        Handler::Http { path, .. } => HttpGet::new(path, None).map(Ask::Http).map_err(|error| error.to_string()),
        Handler::Tcp { .. } => Ok(Ask::Tcp),
    };
    let target = ask.and_then(|ask| Target::new(address, ask, Loopback::Refused).map_err(|error| error.to_string()));
    target.inspect_err(|error| tracing::debug!(%error, "an attempt cannot be made")).ok()
}
