//! The attempts in flight.

use std::num::NonZeroU16;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Target;
use crate::engine::{AttemptId, DependencyAttempt, Evidence, Outcome, OutcomeClass, PolicyKey, Span};

/// An attempt that ended.
#[derive(Clone, Copy, Debug)]
pub enum Ended {
    /// One at a replica.
    Replica {
        /// Which.
        attempt: AttemptId,
        /// The policy whose rule asked.
        policy: PolicyKey,
        /// How.
        outcome: Outcome,
    },
    /// One at a dependency.
    Dependency {
        /// Which.
        attempt: DependencyAttempt,
        /// How.
        outcome: Outcome,
    },
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
            let outcome = match target {
                Some(target) => ask(&slots, &target, timeout).await,
                None => ended(OutcomeClass::ProberError),
            };
            Ended::Replica { attempt, policy, outcome }
        });
    }

    /// Begins an attempt at all that stand for a dependency, each of which may take at most `timeout`. It passes with the
    /// first that passes. Where nobody does, it is our own fault if one of them was not asked for such a fault.
    pub fn start_any(&mut self, standing: Standing, attempt: DependencyAttempt, timeout: Span) {
        let slots = Arc::clone(&self.slots);
        self.running.spawn(async move {
            let outcome = match standing {
                Standing::Nobody => ended(OutcomeClass::NobodyThere),
                Standing::Unknown => ended(OutcomeClass::ProberError),
                Standing::Asked(targets) => ask_any(&slots, &targets, timeout).await,
            };
            Ended::Dependency { attempt, outcome }
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

/// Who stands for a dependency.
#[derive(Clone, Debug)]
pub enum Standing {
    /// Nobody does.
    Nobody,
    /// Nobody whom we could ask: that says nothing about them.
    Unknown,
    /// These.
    Asked(Vec<Target>),
}

async fn ask_any(slots: &Semaphore, targets: &[Target], timeout: Span) -> Outcome {
    let mut answers: FuturesUnordered<_> = targets.iter().map(|target| ask(slots, target, timeout)).collect();
    let (mut unknown, mut failed) = (None, None);
    while let Some(outcome) = answers.next().await {
        match outcome.class.evidence() {
            Evidence::Pass => return outcome,
            Evidence::Nothing => unknown = Some(outcome),
            Evidence::Fail => failed = Some(outcome),
        }
    }
    unknown.or(failed).unwrap_or(ended(OutcomeClass::NobodyThere))
}

async fn ask(slots: &Semaphore, target: &Target, timeout: Span) -> Outcome {
    match slots.acquire().await {
        Ok(_slot) => super::attempt(target, timeout).await,
        Err(_) => ended(OutcomeClass::ProberError),
    }
}

/// What ended before it began.
const fn ended(class: OutcomeClass) -> Outcome {
    Outcome { class, took: Span::ZERO }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    use serde_json::json;

    use super::*;
    use crate::api::test_support::handler;
    use crate::engine::DependencyName;
    use crate::probe::Loopback;

    #[tokio::test]
    async fn a_dependency_passes_if_any_of_those_does_who_stand_for_it() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let tcp = handler(json!({"tcpSocket": {"port": 80}}));
        let target = |address: SocketAddr| Target::new(&tcp, address, Loopback::Allowed).unwrap();
        let there = listener.local_addr().unwrap();
        for (standing, class) in [
            (Standing::Asked(vec![target(gone), target(there)]), OutcomeClass::Passed),
            (Standing::Asked(vec![target(gone), target(gone)]), OutcomeClass::Refused),
            (Standing::Nobody, OutcomeClass::NobodyThere),
            (Standing::Unknown, OutcomeClass::ProberError),
        ] {
            let mut attempts = Attempts::new(NonZeroU16::MIN);
            let dependency = DependencyName::new("store").unwrap();
            let attempt = DependencyAttempt { policy: PolicyKey(0), dependency, serial: 7 };
            attempts.start_any(standing, attempt, Span::from_secs(30));
            let Ended::Dependency { attempt: of, outcome } = attempts.ended().await else { panic!("another one") };
            assert_eq!((of, outcome.class), (attempt, class));
        }
    }
}
