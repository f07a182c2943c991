//! What the status of a policy that observes says enforcing would have done.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::WouldHave;

/// What enforcing the spec would have done since it is observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WouldHaveStatus {
    /// The generation of the spec that it is counted for: every edit begins anew.
    pub generation: i64,

    /// Since when it is counted.
    pub since: MicroTime,

    /// What is counted.
    #[serde(flatten)]
    pub counts: WouldHaveCounts,
}

/// What enforcing would have done, counted. A failure counts for one restart, however long it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WouldHaveCounts {
    /// Restarts that would have been ordered.
    #[serde(default)]
    pub restarted: u32,

    /// Of those, of replicas that had not finished starting.
    #[serde(default)]
    pub in_startup: u32,

    /// Restarts and ejections while most judged replicas failed the rule that wanted them.
    #[serde(default)]
    pub in_shared_failure: u32,

    /// Replicas that would have been taken out of the pool.
    #[serde(default)]
    pub ejected: u32,

    /// Replicas that would have been let into the pool.
    #[serde(default)]
    pub admitted: u32,

    /// Restarts that the breaker would have held, be it for a while.
    #[serde(default)]
    pub held_by_breaker: u32,

    /// Ejections that the floor would have held, be it for a while.
    #[serde(default)]
    pub held_by_floor: u32,

    /// Ejections that would have been held since most replicas failed, be it for a while.
    #[serde(default)]
    pub held_by_shared_failure: u32,

    /// Ejections and restarts that would have been held since a dependency failed, be it for a while.
    #[serde(default)]
    pub held_by_dependency: u32,
}

impl WouldHaveCounts {
    /// These, and what an engine has counted since.
    #[must_use]
    pub const fn plus(self, since: WouldHave) -> Self {
        Self {
            restarted: self.restarted.saturating_add(since.restarted),
            in_startup: self.in_startup.saturating_add(since.in_startup),
            in_shared_failure: self.in_shared_failure.saturating_add(since.in_shared_failure),
            ejected: self.ejected.saturating_add(since.ejected),
            admitted: self.admitted.saturating_add(since.admitted),
            held_by_breaker: self.held_by_breaker.saturating_add(since.held_by_breaker),
            held_by_floor: self.held_by_floor.saturating_add(since.held_by_floor),
            held_by_shared_failure: self.held_by_shared_failure.saturating_add(since.held_by_shared_failure),
            held_by_dependency: self.held_by_dependency.saturating_add(since.held_by_dependency),
        }
    }
}
