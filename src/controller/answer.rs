//! One request to the API server on the leader's behalf, and what its answer means to the engine.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use super::elect::Permit;
use crate::engine::{EffectResult, Refusal};

/// The cause that a disruption budget's refusal carries; an overloaded API server answers 429 without it.
const DISRUPTION_BUDGET: &str = "DisruptionBudget";

/// Why there is no good answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// This process no longer leads, so nothing was sent.
    #[error("not sent: this process no longer leads")]
    NotLeading,
    /// The replica, or the container that it was decided for, is no longer there, so nothing was sent.
    #[error("not sent: what it was decided for is gone")]
    Gone,
    /// No answer in time. Nobody knows whether it was carried out.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The API server refused, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

/// Sends a request if the permit holds at this very moment, and waits at most `timeout` for its answer.
///
/// # Errors
/// If nothing was sent, nothing came back in time, or the answer is no.
pub async fn ask<T>(
    permit: &Permit,
    timeout: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Failure> {
    let request = async {
        // Inside the timed future: whatever delayed its first poll, the look is immediately before the first byte.
        if !permit.holds() {
            return Err(Failure::NotLeading);
        }
        Ok(request.await?)
    };
    tokio::time::timeout(timeout, request).await.unwrap_or(Err(Failure::TimedOut(timeout)))
}

/// As [`ask`], for a request that does no harm when it is carried out twice: sent once more if its connection broke
/// before the answer, as one does that the API server closes while it idles.
///
/// # Errors
/// As for [`ask`].
pub async fn ask_again<T, R: Future<Output = kube::Result<T>>>(
    permit: &Permit,
    timeout: Duration,
    request: impl Fn() -> R,
) -> Result<T, Failure> {
    match ask(permit, timeout, request()).await {
        Err(Failure::Kube(kube::Error::Service(_) | kube::Error::HyperError(_))) => {
            ask(permit, timeout, request()).await
        }
        answer => answer,
    }
}

impl Failure {
    /// What the engine is told.
    pub fn result(&self) -> EffectResult {
        match self {
            Self::NotLeading | Self::Gone => EffectResult::Refused(Refusal::Changed),
            Self::TimedOut(_) => EffectResult::Unknown,
            Self::Kube(kube::Error::Api(status)) => api_result(status),
            Self::Kube(error) if never_connected(error) => EffectResult::Refused(Refusal::Failed),
            Self::Kube(_) => EffectResult::Unknown,
        }
    }
}

fn api_result(status: &kube::core::Status) -> EffectResult {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let refusal = match status.code {
        404 | 409 => Refusal::Changed,
        // A uid that is not the object's is an attempt to change an immutable field.
        422 if causes.clone().any(|cause| cause.field == "metadata.uid") => Refusal::Changed,
        429 if causes.clone().any(|cause| cause.reason == DISRUPTION_BUDGET) => Refusal::Budget,
        403 => Refusal::Forbidden,
        504 => return EffectResult::Unknown,
        _ => Refusal::Failed,
    };
    EffectResult::Refused(refusal)
}

fn never_connected(error: &kube::Error) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        source = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::future::ready;

    use kube::core::Status;
    use kube::core::response::{StatusCause, StatusDetails};

    use super::*;
    use crate::engine::Span;
    use crate::runtime::Clock;

    #[tokio::test]
    async fn over_a_broken_connection_a_harmless_request_is_sent_once_more_and_a_refusal_is_final() {
        let clock = Clock::start();
        let permit = Permit::for_test(clock, clock.now() + Span::from_secs(3600));
        let refused = || kube::Error::Api(Status::failure("no", "Conflict").with_code(409).boxed());
        for (errors, sent) in [(vec![broken()], 2), (vec![broken(), broken()], 2), (vec![refused()], 1)] {
            let (fails, left, count) = (errors.len(), RefCell::new(errors), Cell::new(0));
            let answer = ask_again(&permit, Duration::from_secs(1), || {
                count.set(count.get() + 1);
                ready(left.borrow_mut().pop().map_or(Ok(()), Err))
            });
            assert_eq!(answer.await.is_ok(), fails < sent);
            assert_eq!(count.get(), sent);
        }
    }

    fn broken() -> kube::Error {
        kube::Error::Service("connection closed before message completed".into())
    }

    #[tokio::test]
    async fn with_a_void_permit_nothing_is_sent() {
        let clock = Clock::start();
        let void = Permit::for_test(clock, clock.now());
        let sent = Cell::new(false);
        let request = async {
            sent.set(true);
            Ok(())
        };
        let answer = ask(&void, Duration::from_secs(1), request).await;
        assert!(matches!(answer, Err(Failure::NotLeading)) && !sent.get());
    }

    #[test]
    fn only_a_budgets_429_is_a_budgets_refusal() {
        let overload = Status::failure("slow down", "TooManyRequests").with_code(429);
        assert_eq!(result(overload.clone()), EffectResult::Refused(Refusal::Failed));
        let budget = overload.with_details(caused_by("DisruptionBudget", ""));
        assert_eq!(result(budget), EffectResult::Refused(Refusal::Budget));
    }

    #[test]
    fn a_pod_that_is_another_one_has_changed() {
        let invalid = Status::failure("invalid", "Invalid").with_code(422);
        assert_eq!(result(invalid.clone()), EffectResult::Refused(Refusal::Failed));
        let other_uid = invalid.with_details(caused_by("FieldValueInvalid", "metadata.uid"));
        assert_eq!(result(other_uid), EffectResult::Refused(Refusal::Changed));
        for code in [404, 409] {
            let gone = Status::failure("gone", "").with_code(code);
            assert_eq!(result(gone), EffectResult::Refused(Refusal::Changed));
        }
    }

    #[test]
    fn a_forbidden_write_is_told_from_a_failed_one() {
        let forbidden = Status::failure("no", "Forbidden").with_code(403);
        assert_eq!(result(forbidden), EffectResult::Refused(Refusal::Forbidden));
        let broken = Status::failure("oops", "InternalError").with_code(500);
        assert_eq!(result(broken), EffectResult::Refused(Refusal::Failed));
    }

    #[test]
    fn an_answer_that_never_came_is_unknown() {
        assert_eq!(Failure::TimedOut(Duration::from_secs(4)).result(), EffectResult::Unknown);
        let timed_out = Status::failure("timeout", "Timeout").with_code(504);
        assert_eq!(result(timed_out), EffectResult::Unknown);
    }

    #[test]
    fn a_server_that_was_not_reached_has_done_nothing() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Failure::Kube(kube::Error::Service(Box::new(refused)));
        assert_eq!(error.result(), EffectResult::Refused(Refusal::Failed));
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(Failure::Kube(kube::Error::Service(Box::new(reset))).result(), EffectResult::Unknown);
    }

    fn result(status: Status) -> EffectResult {
        Failure::Kube(kube::Error::Api(status.boxed())).result()
    }

    fn caused_by(reason: &str, field: &str) -> StatusDetails {
        let cause = StatusCause { reason: reason.to_owned(), message: String::new(), field: field.to_owned() };
        StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 0,
        }
    }
}
