//! How the pool is told, and kept.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default;
use crate::api::{Duration, EjectionBackoffSpec, checks};

/// How the pool is told which replicas are in it, and how few may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::NAMES_ITS_SERVICE.rule())]
pub struct PoolSpec {
    /// By what means. ReadinessGate: the pod condition probepolicy.dev/ready, for pods that name it as a readiness gate.
    /// EndpointSlice: slices of our own of a Service without a selector; its endpoints are the pods of the policy, which
    /// need no gate. None: the policy only restarts. Default ReadinessGate.
    #[serde(default)]
    pub through: Through,

    /// The Service of the policy's namespace whose endpoints the pods are. It must have no selector. Required with
    /// EndpointSlice, and for that only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = checks::SERVICE.rule())]
    pub service: Option<String>,

    /// The floor, how few replicas may be ready by their own rules: a number from 0 to 10000, or a percentage from 1% to
    /// 100% of the replicas that the owners want, rounded down. With fewer, while any that has started fails, whenBelow
    /// is done. 0: there is no floor. Default 50%.
    #[serde(default = "default::half")]
    #[x_kube(validation = checks::AMOUNT_OR_NONE.rule())]
    pub min_ready: IntOrString,

    /// What is done below the floor; starting and terminating replicas are never let in for it. Hold: nobody who is in
    /// is ejected for failing. Open: whoever has started is let in, also those that fail. Close: nobody is let in.
    /// Default Hold.
    #[serde(default)]
    pub when_below: WhenBelowSpec,

    /// That is over once enough replicas have been ready for so long: a duration from 1s to 24h. Default 30s.
    #[serde(default = "default::half_minute")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub cooldown: Duration,

    /// What becomes of the replicas in the pool when an edit changes the handler or the container of readiness, or adds
    /// that rule. Keep: they stay until they are judged by it. Prepare: they leave at once, all of them, and come back
    /// once they have passed it successThreshold times in a row; the floor does not hold them back. Rolling: they leave
    /// only as many at a time as restart.maxConcurrent allows restarts, and never so many that fewer are ready than
    /// minReady; who has passed by its turn need not leave. Default Keep.
    #[serde(default)]
    pub on_policy_change: OnPolicyChangeSpec,

    /// How long a replica stays at least in the pool once readiness has let it in, and out of it once readiness has
    /// ejected it: a duration of at most 24h. Below the floor who passes is let in all the same; a container that does
    /// not run is taken out at once. Default 0s.
    #[serde(default = "default::none")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub dwell: Duration,

    /// How long a replica stays out of the pool once readiness has ejected it, the longer the more often that happens.
    #[serde(default)]
    pub ejection_backoff: EjectionBackoffSpec,
}

/// What becomes of the replicas in the pool when an edit changes what readiness asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum OnPolicyChangeSpec {
    /// They stay until they are judged by it.
    #[default]
    Keep,
    /// They leave at once, and come back once they have passed it.
    Prepare,
    /// The same, a few at a time.
    Rolling,
}

/// What is done below the floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum WhenBelowSpec {
    /// Nobody who is in is ejected for failing.
    #[default]
    Hold,
    /// Whoever has started is let in, also those that fail.
    Open,
    /// Nobody is let in.
    Close,
}

/// By what means the pool is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Through {
    /// By the pod condition, for pods that name it as a readiness gate.
    #[default]
    ReadinessGate,
    /// By slices of our own of a Service without a selector.
    EndpointSlice,
    /// Not at all.
    None,
}

impl Default for PoolSpec {
    fn default() -> Self {
        Self {
            through: Through::default(),
            service: None,
            min_ready: default::half(),
            when_below: WhenBelowSpec::default(),
            cooldown: default::half_minute(),
            on_policy_change: OnPolicyChangeSpec::default(),
            dwell: default::none(),
            ejection_backoff: EjectionBackoffSpec::default(),
        }
    }
}
