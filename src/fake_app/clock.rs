//! The scenario clock: the wall clock, counted from an instant on which all processes agree without talking.

use std::str::FromStr;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use crate::engine::Time;

/// The longest sleep between two looks at the wall clock, which may be stepped meanwhile.
const LOOK: Duration = Duration::from_millis(500);

/// The wall clock.
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns when that instant has come.
pub(super) async fn until(instant: Timestamp) {
    let left = || Duration::try_from(instant.duration_since(now())).ok().filter(|left| !left.is_zero());
    while let Some(left) = left() {
        tokio::time::sleep(left.min(LOOK)).await;
    }
}

/// Where t = 0 of the scenario lies on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The scenario repeats for ever; its first run began with the Unix epoch.
    Repeat,
    /// It runs once, from this instant on.
    At(Timestamp),
}

/// That a text is no start of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a start is `repeat` or an instant such as 2026-03-01T12:00:00Z")]
pub struct NotAStart;

impl Start {
    /// The scenario's time at an instant; `None` before t = 0.
    pub fn time(self, wall: Timestamp) -> Option<Time> {
        u64::try_from(wall.as_nanosecond() - self.origin()).ok().map(Time::from_nanos)
    }

    /// The instant of a scenario's time, as far as the calendar goes.
    pub fn instant(self, time: Time) -> Timestamp {
        Timestamp::from_nanosecond(self.origin() + i128::from(time.as_nanos())).unwrap_or(Timestamp::MAX)
    }

    fn origin(self) -> i128 {
        match self {
            Self::Repeat => 0,
            Self::At(start) => start.as_nanosecond(),
        }
    }
}

impl FromStr for Start {
    type Err = NotAStart;

    fn from_str(text: &str) -> Result<Self, NotAStart> {
        match text {
            "repeat" => Ok(Self::Repeat),
            instant => instant.parse().map(Self::At).map_err(|_| NotAStart),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Span;

    #[test]
    fn time_counts_from_the_start() {
        let start: Start = "2026-03-01T12:00:00Z".parse().unwrap();
        let at = |text: &str| start.time(text.parse().unwrap());
        assert_eq!(at("2026-03-01T11:59:59.999Z"), None);
        assert_eq!(at("2026-03-01T12:00:00Z"), Some(Time::ZERO));
        assert_eq!(at("2026-03-01T13:00:01.5+01:00"), Some(Time::ZERO + Span::from_millis(1_500)));
    }

    #[test]
    fn an_instant_is_the_way_back() {
        for text in ["repeat", "2026-03-01T12:00:00Z"] {
            let start: Start = text.parse().unwrap();
            let wall = "2026-03-01T12:00:07.25Z".parse().unwrap();
            assert_eq!(start.time(wall).map(|time| start.instant(time)), Some(wall));
        }
    }

    #[test]
    fn a_start_without_a_zone_is_refused() {
        assert_eq!("2026-03-01T12:00:00".parse::<Start>(), Err(NotAStart));
    }
}
