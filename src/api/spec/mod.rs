//! What a user writes, section by section. Field by field with its default; what is refused stands in [`checks`].

mod fleet;
mod pool;
mod restart;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::handler::{self, ExecSpec, GrpcSpec, HttpGetSpec, TcpSocketSpec};
use super::status::ProbePolicyStatus;
use super::{Duration, FailureWindowSpec, IpFamily, Selector, checks};

pub use fleet::{BreakerSpec, FleetSpec, SharedFailureSpec};
pub use pool::{OnPolicyChangeSpec, PoolSpec, Through, WhenBelowSpec};
pub use restart::{BackoffSpec, BudgetSpec, Method, OtherOwnersSpec, RestartSpec};

/// Probes for a set of pods: when to restart them, and when they get traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "probepolicy.dev",
    version = "v1alpha1",
    kind = "ProbePolicy",
    plural = "probepolicies",
    shortname = "pp",
    category = "all",
    namespaced,
    status = "ProbePolicyStatus",
    derive = "PartialEq",
    doc = "Probes for a set of pods: when to restart them, and when they get traffic.",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "In Pool", type_ = "integer", json_path = ".status.inPool"),
    printcolumn(name = "Suspect", type_ = "integer", json_path = ".status.suspect"),
    printcolumn(name = "Restarts", type_ = "integer", json_path = ".status.restarts.total"),
    printcolumn(name = "Paused", type_ = "integer", json_path = ".status.paused"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Paused Until", type_ = "string", json_path = ".status.pausedUntil", priority = 1),
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Accepted\")].status",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::duplicated_attributes, reason = "several columns have the same type")]
pub struct ProbePolicySpec {
    /// Which pods of this namespace the policy is about, by their labels. Required; an empty selector is refused. If
    /// several policies select a pod, the oldest keeps it.
    pub selector: Selector,

    /// Whether decisions are carried out. Observe: attempts are made and judged, nothing is restarted, gates are open, and
    /// the status says what enforcing would have done. Enforce: restarts and gates follow the rules. Paused: no attempts;
    /// new pods are let in, known ones keep their gate. Default Observe.
    #[serde(default)]
    pub mode: ModeSpec,

    /// Has the replica finished starting? Until this rule passes, the other two wait and the gate is closed; at its
    /// failure threshold the replica is restarted. Optional; without it a replica has started once any rule passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = checks::PASSES_AT_ONCE.rule())]
    #[x_kube(validation = checks::KEEPS_ITS_TIME.rule(), validation = checks::ONLY_READINESS_HURRIES.rule())]
    #[x_kube(validation = checks::FAILS_IN_A_ROW.rule())]
    pub startup: Option<RuleSpec>,

    /// Does the process answer? At its failure threshold the replica is restarted. It should ask nothing that a
    /// restart cannot heal. Optional; without it nothing is restarted once started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = checks::PASSES_AT_ONCE.rule(), validation = checks::ONLY_READINESS_HURRIES.rule())]
    pub liveness: Option<RuleSpec>,

    /// Should the replica get traffic? At its failure threshold the gate closes, at its success threshold it opens.
    /// Never restarts. Optional; without it the gate opens once the replica has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<RuleSpec>,

    /// Does the replica say by itself that it is there? It beats by renewing a Lease that bears its pod's name,
    /// labelled probepolicy.dev/heartbeat, and deregisters by deleting it. A replica that has started leaves the pool
    /// once it was silent for the time to live, at once when it deregisters, and is back with its next beat. Never
    /// restarts. With a readiness rule beside it, either keeps a replica out. Optional.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<HeartbeatSpec>,

    /// How restarts are done, and what holds them back.
    #[serde(default)]
    pub restart: RestartSpec,

    /// How the pool is told which replicas are in it, and how few may be.
    #[serde(default)]
    pub pool: PoolSpec,

    /// What is decided with all replicas in view.
    #[serde(default)]
    pub fleet: FleetSpec,
}

/// Whether decisions are carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ModeSpec {
    /// Attempts are made and judged, nothing is restarted, gates are open.
    #[default]
    Observe,
    /// Restarts and gates follow the rules.
    Enforce,
    /// No attempts; new pods are let in, known ones keep their gate.
    Paused,
}

/// One rule: what it asks, how often, and how many answers make a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = handler::ONE.rule(), validation = checks::COMMANDS_HAVE_NO_ADDRESS.rule())]
#[x_kube(validation = checks::STARTS_QUICKER.rule(), validation = checks::RECHECKS_QUICKER.rule())]
pub struct RuleSpec {
    /// Ask with an HTTP GET request. An expected status with a sound body passes.
    /// One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetSpec>,

    /// Ask by opening a TCP connection. One that is accepted passes. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketSpec>,

    /// Ask a gRPC health service (grpc.health.v1). A state that is accepted passes. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcSpec>,

    /// Ask by running a command in the container, through the API server: the dearest kind, and at most 16 run at once.
    /// Exit code 0 passes. The controller needs a right of its own for it. One of the handlers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecSpec>,

    /// Which of the pod's addresses is asked: First (whatever its family), IPv4, IPv6, Either (both at once; one that
    /// passes is enough) or Both (each has to pass). Default First; with exec there is none to choose.
    #[serde(default)]
    pub ip_family: IpFamily,

    /// From one attempt to the next: a duration from 10ms to 24h. Default 10s.
    #[serde(default = "default::period")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub period: Duration,

    /// From one attempt to the next until the container has passed the rule: a duration from 10ms to 24h, shorter than
    /// the period. Readiness only. Default: the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub startup_period: Option<Duration>,

    /// From one attempt to the next while a streak is undecided: a failure that is not at its threshold yet, or a pass.
    /// A duration from 10ms to 24h, shorter than the period. Not for startup. Confirmations do not wait for each other,
    /// so a hang is found as quickly. On a liveness rule it shortens what a replica may take before it is restarted.
    /// Default: the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub fast_period: Option<Duration>,

    /// How long an attempt may take in all: a duration from 10ms to 24h. One longer than the period stretches the
    /// period. Default 3s.
    #[serde(default = "default::timeout")]
    #[x_kube(validation = checks::PERIOD.rule())]
    pub timeout: Duration,

    /// From the container's start to the first attempt: a duration of at most 24h. Default 0s.
    #[serde(default = "default::none")]
    #[x_kube(validation = checks::DELAY.rule())]
    pub initial_delay: Duration,

    /// Failures in a row that make the rule fail, from 1 to 10000. Default 3.
    #[serde(default = "default::three")]
    #[x_kube(validation = checks::COUNT.rule())]
    pub failure_threshold: i32,

    /// Passes in a row that make the rule pass again, from 1 to 10000; only 1 for startup and liveness. Default 1.
    #[serde(default = "default::one")]
    #[x_kube(validation = checks::COUNT.rule())]
    pub success_threshold: i32,

    /// Failures that make the rule fail though they are not in a row, besides failureThreshold. The rule then passes
    /// again only once fewer of its latest attempts failed. Not for startup. Default: only failures in a row count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_window: Option<FailureWindowSpec>,

    /// The container that is asked and whose restarts count, by its name. Default: the one that declares the named
    /// port, else the only one, else the one of the annotation kubectl.kubernetes.io/default-container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = checks::CONTAINER.rule())]
    pub container: Option<String>,
}

/// Replicas say by themselves that they are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatSpec {
    /// For how long a beat counts: a duration from 1s to 24h. Three beats should fit into it, two have to.
    #[x_kube(validation = checks::SECONDS.rule())]
    pub time_to_live: Duration,

    /// The container that the beats speak for, by its name: a new one has to beat anew. Default: the only one, else the
    /// one of the annotation kubectl.kubernetes.io/default-container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = checks::CONTAINER.rule())]
    pub container: Option<String>,
}

/// What a field is that is left out.
pub(super) mod default {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

    use crate::api::Duration;

    pub fn period() -> Duration {
        Duration::from_secs(10)
    }

    pub fn timeout() -> Duration {
        Duration::from_secs(3)
    }

    pub fn none() -> Duration {
        Duration::from_secs(0)
    }

    pub fn five() -> i32 {
        5
    }

    pub fn three() -> i32 {
        3
    }

    pub fn two() -> i32 {
        2
    }

    pub fn one() -> i32 {
        1
    }

    pub fn minute() -> Duration {
        Duration::from_secs(60)
    }

    pub fn half_minute() -> Duration {
        Duration::from_secs(30)
    }

    pub fn half() -> IntOrString {
        IntOrString::String("50%".to_owned())
    }

    pub fn max_concurrent() -> IntOrString {
        IntOrString::Int(1)
    }

    pub fn grace_period() -> Duration {
        Duration::from_secs(10)
    }

    pub fn deadline() -> Duration {
        Duration::from_secs(600)
    }

    pub fn backoff_initial() -> Duration {
        Duration::from_secs(10)
    }

    pub fn backoff_max() -> Duration {
        Duration::from_secs(300)
    }

    pub fn backoff_reset_after() -> Duration {
        Duration::from_secs(600)
    }
}
