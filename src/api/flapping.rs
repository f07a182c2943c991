//! What a user writes against replicas that come and go: failures that are not in a row, and how long an ejection lasts.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, checks};

/// Failures that make a rule fail though they are not in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::FITS_THE_WINDOW.rule())]
pub struct FailureWindowSpec {
    /// How many of the latest attempts have to fail: from 1 to 64, and not more than attempts. Required.
    #[x_kube(validation = checks::WINDOW.rule())]
    pub failures: i32,

    /// How many of the latest attempts are looked at, quick re-checks among them: from 1 to 64. Required.
    #[x_kube(validation = checks::WINDOW.rule())]
    pub attempts: i32,
}

/// How long a replica stays out of the pool once readiness has ejected it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::LASTS_LONGER.rule())]
pub struct EjectionBackoffSpec {
    /// After the first ejection of a container, doubled with each further one: a duration up to max. 0s switches it off.
    /// Default 0s.
    #[serde(default = "default::initial")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub initial: Duration,

    /// The longest time: a duration of at most 24h. Default 5m.
    #[serde(default = "default::max")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub max: Duration,

    /// One ejection is forgotten for each such time that it then stays in the pool: a duration from 1s to 24h.
    /// Default 10m.
    #[serde(default = "default::decay_after")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub decay_after: Duration,
}

impl Default for EjectionBackoffSpec {
    fn default() -> Self {
        Self { initial: default::initial(), max: default::max(), decay_after: default::decay_after() }
    }
}

mod default {
    use super::Duration;

    pub fn initial() -> Duration {
        Duration::from_secs(0)
    }

    pub fn max() -> Duration {
        Duration::from_secs(300)
    }

    pub fn decay_after() -> Duration {
        Duration::from_secs(600)
    }
}
