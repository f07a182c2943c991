//! Who is let alone for a while: no attempts, and the gate stays as it is.

use super::{Mode, Policy, Time};

/// Why a replica, or a policy with all its replicas, is let alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The policy's mode says so.
    Mode,
    /// The policy is paused until then.
    Policy {
        /// When it goes on by itself.
        until: Time,
    },
    /// The replica is paused until then, longer than its policy.
    Replica {
        /// When it goes on by itself.
        until: Time,
    },
}

impl Pause {
    /// What holds at `now` for a replica that is itself paused until `replica`. What is over is as if it had never been.
    pub(super) fn at(now: Time, policy: &Policy, replica: Option<Time>) -> Option<Self> {
        if policy.mode == Mode::Paused {
            return Some(Self::Mode);
        }
        let ahead = |until: &Time| *until > now;
        match (policy.paused_until.filter(ahead), replica.filter(ahead)) {
            (Some(until), of_replica) if of_replica.is_none_or(|of_replica| of_replica <= until) => {
                Some(Self::Policy { until })
            }
            (_, Some(until)) => Some(Self::Replica { until }),
            (_, None) => None,
        }
    }

    /// When it ends by itself, if it does.
    pub const fn until(self) -> Option<Time> {
        match self {
            Self::Mode => None,
            Self::Policy { until } | Self::Replica { until } => Some(until),
        }
    }
}
