//! What is decided with all replicas in view.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default;
use crate::api::dependency::{self, DependencySpec};
use crate::api::{Duration, checks};

/// What is decided with all replicas in view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetSpec {
    /// When restarts wait because many replicas are suspect at once: of the fleet, of a node that cannot be reached, or of
    /// a revision.
    #[serde(default)]
    pub breaker: BreakerSpec,

    /// What to do about a readiness failure that replicas share. It is shared while at least two of the judged replicas,
    /// and more than half of them, failed their latest attempt alike, unless most of another revision passes; or while
    /// all judged replicas of a node, at least two, cannot be reached and somebody elsewhere passes. Starting and
    /// terminating replicas do not count. Hold: nobody who is in the pool is ejected for it, since no replica is worse
    /// off than its neighbours. Ignore: each replica is ejected by its own failures. Default Hold.
    #[serde(default)]
    pub shared_failure: SharedFailureSpec,

    /// What all replicas need, and are not to blame for: at most 4, no two of the same name. While one fails, failures
    /// that go with it neither eject nor, if it says so, restart. Optional.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Atomic, validation = dependency::FEW.rule())]
    pub dependencies: Vec<DependencySpec>,
}

/// When restarts wait because many replicas are suspect at once: a restart does not heal what they share. A replica is
/// suspect once its latest liveness attempt failed, long before that rule wants a restart. The same settings hold for the
/// replicas of a revision, as to liveness and as to startup, and for a node of which no replica can be reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BreakerSpec {
    /// Suspects at which restarts begin to wait: a number from 2 to 10000, or a percentage from 1% to 100% of the judged
    /// replicas (rounded down, at least two); starting and terminating replicas do not count. Never: restarts do not
    /// wait for that. Default 50%.
    #[serde(default = "default::half")]
    #[x_kube(validation = checks::OPEN_AT.rule())]
    pub open_at: IntOrString,

    /// With fewer judged replicas than that, restarts do not begin to wait: from 2 to 10000. Default 2.
    #[serde(default = "default::two")]
    #[x_kube(validation = checks::JUDGED.rule())]
    pub min_judged: i32,

    /// Restarts no longer wait once fewer replicas are suspect for so long: a duration from 1s to 24h. Default 1m.
    #[serde(default = "default::minute")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub cooldown: Duration,

    /// While restarts wait, one is tried after so long: a duration of at most 24h. If its seat is judged well afterwards,
    /// restarts go on; if not, the next one is tried after the same time. 0s: none is tried. Default 1m.
    #[serde(default = "default::minute")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub trial: Duration,
}

/// What to do about a readiness failure that most replicas share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum SharedFailureSpec {
    /// Nobody who is in the pool is ejected for it.
    #[default]
    Hold,
    /// Each replica is ejected by its own failures.
    Ignore,
}

impl Default for BreakerSpec {
    fn default() -> Self {
        Self {
            open_at: default::half(),
            min_judged: default::two(),
            cooldown: default::minute(),
            trial: default::minute(),
        }
    }
}
