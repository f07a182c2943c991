//! What a user writes. Field by field with its default; what is refused stands in [`checks`].

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dependency::{self, DependencySpec};
use super::handler::{self, ExecSpec, GrpcSpec, HttpGetSpec, TcpSocketSpec};
use super::status::ProbePolicyStatus;
use super::{Duration, EjectionBackoffSpec, FailureWindowSpec, IpFamily, Selector, checks};

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

pub(super) mod default {
    use super::{Duration, IntOrString};

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
