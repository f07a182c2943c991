//! The one place of the controller that reads clocks.
//!
//! An engine [`Time`] of the controller is the number of nanoseconds since the Unix epoch, as the wall clock stood
//! when the process started, carried on by the monotonic clock. So API timestamps and engine times convert without
//! a clock, timestamps from before the start stay before it, and a stepped wall clock moves nothing.

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
    #[expect(clippy::disallowed_methods, reason = "this is the controller's clock")]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_at: Time::ZERO + Span::from(since_epoch) }
    }

    /// Now, on the monotonic line.
    #[expect(clippy::disallowed_methods, reason = "this is the controller's clock")]
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

/// An engine time as the API server writes it.
pub fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time.as_nanos())).unwrap_or(Timestamp::MAX)
}

/// An API timestamp as the engine counts; what lies before 1970 counts as 1970.
pub fn time(timestamp: Timestamp) -> Time {
    Time::from_nanos(u64::try_from(timestamp.as_nanosecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_the_way_there_and_back() {
        let written: Timestamp = "2026-03-01T12:00:00.25Z".parse().unwrap();
        assert_eq!(timestamp(time(written)), written);
    }

    #[test]
    fn a_timestamp_from_before_the_start_lies_in_the_past() {
        let clock = Clock::start();
        let earlier: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        assert!(time(earlier) < clock.now());
    }
}
