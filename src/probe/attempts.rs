//! The attempts in flight.

use std::num::NonZeroU16;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Target;
use crate::engine::{AttemptId, Outcome, OutcomeClass, PolicyKey, Span};

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

    /// Begins an attempt that takes at most `timeout`. Without a target it ends at once, as our own fault.
    pub fn start(&mut self, target: Option<Target>, attempt: AttemptId, policy: PolicyKey, timeout: Span) {
        let slots = Arc::clone(&self.slots);
        self.running.spawn(async move {
            let outcome = match (target, slots.acquire().await) {
                (Some(target), Ok(_slot)) => super::attempt(&target, timeout).await,
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
