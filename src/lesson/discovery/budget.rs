//! What a window costs: the requests that it drops, and the availability that is left.

use std::num::NonZeroU32;

use serde::Deserialize;

use crate::api::Duration;
use crate::api::yaml::{self, YamlError};
use crate::engine::Span;
use crate::model::discovery::Window;

/// What the lesson counts with.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// To all replicas together.
    requests_per_second: f64,
    replicas: NonZeroU32,
    faults_per_month: f64,
    requests_per_month: f64,
    health_check: HealthCheck,
    by_hand: Duration,
}

/// A health check of every replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HealthCheck {
    period: Duration,
    failure_threshold: NonZeroU32,
}

/// What a window costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The window, in seconds.
    pub window_s: f64,
    /// Requests to the dead replica.
    pub dropped_per_fault: f64,
    /// The same for all faults of a month.
    pub dropped_per_month: f64,
    /// Of all requests of a month, those that are not dropped.
    pub availability_percent: f64,
}

impl Budget {
    /// The lesson's, as it stands in its file.
    pub fn of_the_lesson() -> Result<Self, YamlError> {
        yaml::from_str("lessons/discovery/budget.yaml", include_str!("../../../lessons/discovery/budget.yaml"))
    }

    /// What it costs to go on sending to a dead replica for so long.
    pub fn cost(&self, window: Span) -> Cost {
        let window_s = window.as_secs_f64();
        let dropped_per_fault = self.requests_per_second / self.replicas() * window_s;
        let dropped_per_month = dropped_per_fault * self.faults_per_month;
        let availability_percent = 100.0 * (1.0 - dropped_per_month / self.requests_per_month);
        Cost { window_s, dropped_per_fault, dropped_per_month, availability_percent }
    }

    /// A window as a length: who is still on the list at the end is taken out by hand.
    pub fn span_of(&self, window: Window) -> Span {
        match window {
            Window::Noticed(span) => span,
            Window::Manual => self.by_hand(),
        }
    }

    /// How long it takes until somebody has changed the lists.
    pub const fn by_hand(&self) -> Span {
        self.by_hand.span()
    }

    /// How long the health check takes to see that a replica is dead.
    pub fn health_check(&self) -> Span {
        self.health_check.period.span() * u64::from(self.health_check.failure_threshold.get())
    }

    /// Health checks a second, of all replicas.
    pub fn checks_per_s(&self) -> f64 {
        self.replicas() / self.health_check.period.span().as_secs_f64()
    }

    /// Beats a second of all replicas, of each one every so often.
    pub fn beats_per_s(&self, every: Span) -> f64 {
        self.replicas() / every.as_secs_f64()
    }

    fn replicas(&self) -> f64 {
        f64::from(self.replicas.get())
    }
}
