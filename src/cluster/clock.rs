//! In the world of pods an engine time is the number of nanoseconds since the Unix epoch, so that what Kubernetes
//! has written down converts without a clock.

use k8s_openapi::jiff::Timestamp;

use crate::engine::Time;

/// An API timestamp on the engine's line; what lies before 1970 counts as 1970.
pub fn time(timestamp: Timestamp) -> Time {
    Time::from_nanos(u64::try_from(timestamp.as_nanosecond()).unwrap_or(0))
}

/// An engine time as the API server writes it.
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
