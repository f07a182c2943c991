//! How replicas are restarted.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::default;
use crate::api::{Duration, checks};

/// How restarts are done, and what holds them back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RestartSpec {
    /// By what means. Evict asks the disruption budgets; a refusal waits. Delete does not ask them. Default Evict.
    #[serde(default)]
    pub method: Method,

    /// Replicas that may be in a restart at once, counted until they are judged well again: a number from 1 to 10000, or
    /// a percentage from 1% to 100% of the replicas that the owner wants (rounded down, at least one). Default 1.
    #[serde(default = "default::max_concurrent")]
    #[x_kube(validation = checks::AMOUNT.rule())]
    pub max_concurrent: IntOrString,

    /// Restarts that all replicas together may have in a time, whatever wants them. Those by others, such as the kubelet,
    /// do not count, nor do replicas that fail. Default: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetSpec>,

    /// How long a seat waits between its restarts.
    #[serde(default)]
    pub backoff: BackoffSpec,

    /// What a replica that is restarted gets to end, instead of the pod's own grace period: a duration from 1s to 24h,
    /// rounded up to whole seconds. Default 10s.
    #[serde(default = "default::grace_period")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub grace_period: Duration,

    /// How long a restarted seat may take until it is judged well: a duration from 1s to 24h. Past it the restart counts
    /// as futile. Default 10m.
    #[serde(default = "default::deadline")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub deadline: Duration,

    /// Restarts of one seat, none of them forgotten, that make a loop: from 1 to 10000. Default 3.
    #[serde(default = "default::three")]
    #[x_kube(validation = checks::COUNT.rule())]
    pub loop_after: i32,

    /// Restarts of one seat in a row that did not help, after which it is not restarted any more and its pod is kept out
    /// of the pool until its rules pass again: from 0 to 10000. A restart helps if its seat is judged well afterwards,
    /// before a rule wants the next one and within the deadline. 0: it is always restarted. Default 5.
    #[serde(default = "default::five")]
    #[x_kube(validation = checks::COUNT_OR_NONE.rule())]
    pub give_up_after: i32,

    /// Whether pods whose controller is of another kind than ReplicaSet, StatefulSet, DaemonSet, ReplicationController
    /// and Job are restarted. Refuse: never. Restart: as all others, on your word that the controller creates deleted
    /// pods again; how many it wants is not known, so the live ones count. Default Refuse.
    #[serde(default)]
    pub other_owners: OtherOwnersSpec,
}

/// Whether pods under controllers of an unknown kind are restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum OtherOwnersSpec {
    /// Never.
    #[default]
    Refuse,
    /// As all others.
    Restart,
}

/// By what means a replica is restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Method {
    /// Asks the disruption budgets; a refusal waits.
    #[default]
    Evict,
    /// Does not ask them.
    Delete,
}

/// Restarts that all replicas together may have in a time: a bucket of tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetSpec {
    /// So many at once, after a time without any: from 1 to 10000.
    #[x_kube(validation = checks::COUNT.rule())]
    pub restarts: i32,

    /// In so long, evenly, a budget that is spent becomes whole again: a duration from 1s to 24h. `restarts: 10, per: 1h`
    /// is another restart every 6 minutes.
    #[x_kube(validation = checks::SECONDS.rule())]
    pub per: Duration,
}

/// How long a seat waits between its restarts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::GROWS.rule(), validation = checks::OUTLASTS.rule())]
pub struct BackoffSpec {
    /// The wait after the first restart, doubled with each further one: a duration up to max. 0s switches the backoff
    /// off. Default 10s.
    #[serde(default = "default::backoff_initial")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub initial: Duration,

    /// The longest wait: a duration of at most 24h. Default 5m.
    #[serde(default = "default::backoff_max")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub max: Duration,

    /// Without a restart for so long, the seat's restarts are forgotten: a duration longer than max, from 1s to 24h.
    /// Default 10m.
    #[serde(default = "default::backoff_reset_after")]
    #[x_kube(validation = checks::SECONDS.rule())]
    pub reset_after: Duration,
}

impl Default for RestartSpec {
    fn default() -> Self {
        Self {
            method: Method::default(),
            max_concurrent: default::max_concurrent(),
            budget: None,
            backoff: BackoffSpec::default(),
            grace_period: default::grace_period(),
            deadline: default::deadline(),
            loop_after: default::three(),
            give_up_after: default::five(),
            other_owners: OtherOwnersSpec::default(),
        }
    }
}

impl Default for BackoffSpec {
    fn default() -> Self {
        Self {
            initial: default::backoff_initial(),
            max: default::backoff_max(),
            reset_after: default::backoff_reset_after(),
        }
    }
}
