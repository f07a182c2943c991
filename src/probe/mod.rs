//! The attempts themselves: one question to one address, one outcome, within one deadline.
//!
//! One file per kind. An attempt owns no task and no timer while it is not in flight, and at most one small
//! buffer while it is, whatever the other side does; beside it the session of TLS or HTTP/2, and a health body of the
//! size that the rule allows, where it asks so. [`Attempts`] are those in flight.

mod attempts;
mod connect;
mod exec;
mod grpc;
mod http;
mod target;
mod tcp;
mod tls;

use std::io;

use tokio::time::Instant;

use crate::engine::{Outcome, OutcomeClass, Span};

pub use attempts::{Attempts, Ended, Standing};
pub use exec::{Commands, Container};
pub use http::MAX_HEAD;
pub use target::{Loopback, RefusedTarget, Target};

/// How late the end of an attempt may be noticed before its outcome is void.
pub const STARVED_AFTER: Span = Span::from_millis(500);

/// One kind of question.
trait Kind {
    /// Where it can be asked.
    type Place;

    /// Asks there, and tells by `stage` how far it has come.
    async fn ask(&self, place: &Self::Place, stage: &mut Stage) -> io::Result<OutcomeClass>;
}

/// Asks once. Connecting, the answer's head and its body share one deadline: `timeout` after the first poll.
///
/// The connection is closed by a reset, so that it leaves no TIME_WAIT entry on either side.
///
/// An attempt that notices its own end more than [`STARVED_AFTER`] past the deadline was not run when it should
/// have been, so it is a [`OutcomeClass::ProberError`] whatever it found: the replica may have answered in time.
pub async fn attempt(target: &Target, timeout: Span) -> Outcome {
    let started = Instant::now();
    let mut stage = Stage::Connecting;
    let ended = tokio::time::timeout(timeout.into(), target.ask(&mut stage)).await;
    let took = Span::from(started.elapsed());
    let class = match &ended {
        _ if took > timeout + STARVED_AFTER => OutcomeClass::ProberError,
        Ok(Ok(class)) => *class,
        Ok(Err(error)) => stage.broken_by(error),
        Err(_elapsed) => stage.silent(),
    };
    if class == OutcomeClass::ProberError {
        tracing::debug!(%target, %took, ?ended, "an attempt failed on our side");
    }
    Outcome { class, took }
}

/// How far an attempt has come, which decides what silence and a broken connection say about the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing of the replica's has been touched: what takes long is our own doing.
    Preparing,
    /// There is no connection yet.
    Connecting,
    /// There is one, but no complete answer head.
    Waiting,
    /// There is a good head, but its body has not ended.
    Reading,
}

impl Stage {
    const fn silent(self) -> OutcomeClass {
        match self {
            Self::Preparing => OutcomeClass::ProberError,
            Self::Connecting => OutcomeClass::ConnectTimeout,
            Self::Waiting => OutcomeClass::NoResponse,
            Self::Reading => OutcomeClass::BadBody,
        }
    }

    /// A host that cannot be reached is as good as silent. What is left after the replica's part and the path's
    /// (too few descriptors, ports or buffers, no route from here, a local filter) is our own fault.
    fn broken_by(self, error: &io::Error) -> OutcomeClass {
        use io::ErrorKind as Kind;
        let cut = [Kind::ConnectionRefused, Kind::ConnectionReset, Kind::ConnectionAborted, Kind::BrokenPipe];
        let lost = [Kind::TimedOut, Kind::HostUnreachable];
        // What is no TLS, and an end that TLS did not announce.
        let garbled = [Kind::InvalidData, Kind::UnexpectedEof];
        match self {
            _ if tls::is_distrust(error) => OutcomeClass::BadCertificate,
            _ if lost.contains(&error.kind()) || garbled.contains(&error.kind()) => self.silent(),
            _ if !cut.contains(&error.kind()) => OutcomeClass::ProberError,
            Self::Preparing => OutcomeClass::ProberError,
            Self::Connecting | Self::Waiting => OutcomeClass::Refused,
            Self::Reading => OutcomeClass::BadBody,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::api::test_support::handler;

    #[test]
    fn an_error_counts_against_the_replica_only_if_the_replica_or_the_path_caused_it() {
        use OutcomeClass::{BadBody, ConnectTimeout, NoResponse, ProberError, Refused};
        use io::ErrorKind as Kind;
        const EMFILE: i32 = 24;
        const ENOBUFS: i32 = 105;
        for (error, connecting, waiting, reading) in [
            (Kind::ConnectionRefused.into(), Refused, Refused, BadBody),
            (Kind::ConnectionReset.into(), Refused, Refused, BadBody),
            (Kind::BrokenPipe.into(), Refused, Refused, BadBody),
            (Kind::TimedOut.into(), ConnectTimeout, NoResponse, BadBody),
            (Kind::HostUnreachable.into(), ConnectTimeout, NoResponse, BadBody),
            (Kind::InvalidData.into(), ConnectTimeout, NoResponse, BadBody),
            (Kind::UnexpectedEof.into(), ConnectTimeout, NoResponse, BadBody),
            (Kind::NetworkUnreachable.into(), ProberError, ProberError, ProberError),
            (Kind::AddrNotAvailable.into(), ProberError, ProberError, ProberError),
            (Kind::PermissionDenied.into(), ProberError, ProberError, ProberError),
            (io::Error::from_raw_os_error(EMFILE), ProberError, ProberError, ProberError),
            (io::Error::from_raw_os_error(ENOBUFS), ProberError, ProberError, ProberError),
        ] {
            let found = [Stage::Connecting, Stage::Waiting, Stage::Reading].map(|stage| stage.broken_by(&error));
            assert_eq!(found, [connecting, waiting, reading], "{error}");
        }
    }

    /// Blocks the runtime's only thread, as a starved process does, until far past the deadline.
    #[tokio::test]
    async fn an_attempt_that_was_not_run_in_time_is_our_own_fault() {
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let target =
            Target::new(&handler(json!({"httpGet": {"port": 80}})), silent.local_addr().unwrap(), Loopback::Allowed)
                .unwrap();
        let timeout = Span::from_millis(1);
        let running = tokio::spawn(async move { attempt(&target, timeout).await });
        tokio::task::yield_now().await;
        thread::sleep(Duration::from(timeout + STARVED_AFTER + Span::from_millis(50)));
        assert_eq!(running.await.unwrap().class, OutcomeClass::ProberError);
    }
}
