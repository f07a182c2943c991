//! The engine's line of time in a running process, and the one place that reads clocks for it.
//!
//! An engine [`Time`] is the number of nanoseconds since the Unix epoch, so that what Kubernetes has written down
//! converts without a clock: as the wall clock stood when the process started, carried on by the monotonic clock.
//! Timestamps from before the start stay before it, and a stepped wall clock moves nothing.

use std::time::{Duration, Instant, SystemTime};

use k8s_openapi::jiff::Timestamp;

use crate::engine::{Span, Time};

/// The process's clock. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    started_at: Time,
}

impl Clock {
    /// The clock of a process that starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the running process's clock")]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_at: Time::ZERO + Span::from(since_epoch) }
    }

    /// Now, on the monotonic line.
    #[expect(clippy::disallowed_methods, reason = "this is the running process's clock")]
    pub fn now(&self) -> Time {
        self.started_at + Span::from(Instant::now().duration_since(self.started))
    }

    /// When a task that waits for `time` is to be woken.
    pub fn instant(&self, time: Time) -> tokio::time::Instant {
        let wait: Duration = time.since(self.started_at).into();
        tokio::time::Instant::from_std(self.started.checked_add(wait).unwrap_or(self.started))
    }

    /// Returns at `time`; at once if it has passed, never if there is none.
    pub async fn sleep_until(&self, time: Option<Time>) {
        match time {
            Some(time) => tokio::time::sleep_until(self.instant(time)).await,
            None => std::future::pending().await,
        }
    }
}

/// A timestamp on the engine's line; what lies before 1970 counts as 1970.
pub fn time(timestamp: Timestamp) -> Time {
    Time::from_nanos(u64::try_from(timestamp.as_nanosecond()).unwrap_or(0))
}

/// An engine time as a timestamp.
pub fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time.as_nanos())).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_the_way_there_and_back() {
        let written: Timestamp = "2026-03-01T12:00:00.25Z".parse().unwrap();
        assert_eq!(timestamp(time(written)), written);
    }
}
