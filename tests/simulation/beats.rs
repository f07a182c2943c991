//! A naive model of what a replica says by itself, and of what its silence comes to.

use probe_policy::engine::{Heartbeat, Time};

/// What was heard of one container.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beats {
    /// The latest beat; none since it deregistered.
    pub last: Option<Time>,
    /// Since when it should have beaten, without a break.
    expected: Option<Time>,
    /// It was silent for a time to live, and has not beaten since.
    pub is_missing: bool,
    pub has_deregistered: bool,
}

impl Beats {
    pub fn beat(&mut self, now: Time) {
        *self = Self { last: Some(now), expected: self.expected, ..Self::default() };
    }

    pub fn deregister(&mut self) {
        *self = Self { expected: self.expected, has_deregistered: true, ..Self::default() };
    }

    /// Somebody has beaten, who is the first: whoever has not gets a whole time to live.
    pub fn await_first(&mut self, now: Time) {
        if self.last.is_none() {
            (self.expected, self.is_missing) = (self.expected.map(|_| now), false);
        }
    }

    /// It should beat by now, or need not. What was said until `deaf_until` may not have been heard.
    pub fn listen(&mut self, is_to_beat: bool, heartbeat: Heartbeat, deaf_until: Time, now: Time) {
        self.expected = is_to_beat.then(|| self.expected.unwrap_or(now));
        if let Some(expected) = self.expected.filter(|_| !self.has_deregistered) {
            let from = expected.max(deaf_until).max(self.last.unwrap_or_default());
            self.is_missing |= from + heartbeat.time_to_live <= now;
        }
    }
}
