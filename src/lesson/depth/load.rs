//! What checks cost, and what a false ejection costs: in closed form, from the rule that checks.

use serde::{Deserialize, Serialize};

use crate::api::yaml::{self, YamlError};
use crate::engine::Span;

const DAY: f64 = 86_400.0;

/// What the lesson counts with.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Load {
    /// What the state store serves.
    store_requests_per_second: f64,
    /// To all replicas together.
    peak_requests_per_second: f64,
    /// How often a replica is briefly silent.
    silences_per_month: f64,
}

/// What the checks of a fleet put on the store that each of them asks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checks {
    /// Of all replicas together.
    pub checks_per_s: f64,
    /// Of what the store serves.
    pub share_percent: f64,
    /// Of all replicas together.
    pub checks_per_day: f64,
}

/// What it costs that a replica which is briefly silent is ejected for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FalseEjection {
    /// How often that happens.
    pub false_ejections_per_month: f64,
    /// What each replica serves when all of them do.
    pub requests_per_s: f64,
    /// What each of the others serves meanwhile.
    pub requests_per_s_meanwhile: f64,
    /// How many times as much that is.
    pub times: f64,
    /// What the fleet lacks meanwhile.
    pub capacity_lost_percent: f64,
    /// How long that lasts at most, in seconds: until the next check.
    pub at_most_s: f64,
}

impl Load {
    /// The lesson's, as it stands in its file.
    pub fn of_the_lesson() -> Result<Self, YamlError> {
        yaml::from_str("lessons/depth/load.yaml", include_str!("../../../lessons/depth/load.yaml"))
    }

    /// What it costs to check so many replicas in that interval.
    pub fn checks(&self, replicas: u32, interval: Span) -> Checks {
        let checks_per_s = f64::from(replicas) / interval.as_secs_f64();
        Checks {
            checks_per_s,
            share_percent: 100.0 * checks_per_s / self.store_requests_per_second,
            checks_per_day: f64::from(replicas) * DAY / interval.as_secs_f64(),
        }
    }

    /// What false ejections cost if checks in that interval, each of which may admit again, made `ejections` of them in
    /// `silent_turns` turns of silence.
    pub fn false_ejection(
        &self,
        replicas: u32,
        interval: Span,
        ejections: usize,
        silent_turns: usize,
    ) -> FalseEjection {
        let all = f64::from(replicas);
        let requests_per_s = self.peak_requests_per_second / all;
        let requests_per_s_meanwhile = self.peak_requests_per_second / (all - 1.0);
        FalseEjection {
            false_ejections_per_month: self.silences_per_month * ejections as f64 / silent_turns as f64,
            requests_per_s,
            requests_per_s_meanwhile,
            times: requests_per_s_meanwhile / requests_per_s,
            capacity_lost_percent: 100.0 / all,
            at_most_s: interval.as_secs_f64(),
        }
    }
}
