//! What the status of a policy says. All of it is written by the controller, by server-side apply.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, SeatName, WouldHaveStatus};
use crate::engine::{RuleKind, StartupTimes};

/// What is believed of the policy and its replicas.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbePolicyStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Live replicas that the policy keeps. Terminating ones are in none of the counts.
    #[serde(default)]
    pub replicas: u32,

    /// Of the replicas, those that have not finished starting.
    #[serde(default)]
    pub starting: u32,

    /// Of the replicas, those whose pod is Ready.
    #[serde(default)]
    pub in_pool: u32,

    /// Of the replicas, those with a rule whose latest attempt failed.
    #[serde(default)]
    pub suspect: u32,

    /// Of the replicas, those with a rule at its failure threshold.
    #[serde(default)]
    pub failing: u32,

    /// Of the replicas, those that are paused: they are not asked, and count neither as starting nor as suspect.
    #[serde(default)]
    pub paused: u32,

    /// Until when the policy with all its replicas is paused, if its annotation says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Time>,
    /// Of the replicas, those that every rule that asks them has judged under the spec in force.
    #[serde(default)]
    pub applied: u32,

    /// Of the replicas, those that are out of the pool until they have passed what an edit asks.
    #[serde(default)]
    pub preparing: u32,

    /// The restarts that this policy ordered.
    #[serde(default)]
    pub restarts: RestartCounts,

    /// What the owners want, and what of it serves.
    #[serde(default)]
    pub capacity: CapacityStatus,

    /// How long replicas took to start, by revision, the oldest first: the latest three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub startups: Vec<StartupStatus>,

    /// What is left of the restart budget; absent if the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_budget: Option<BudgetStatus>,
    /// What enforcing the spec would have done, while the policy observes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_have: Option<WouldHaveStatus>,

    /// What can be said of each rule as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub rules: Vec<RuleStatus>,

    /// What can be said of the heartbeat rule as a whole, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<HeartbeatStatus>,

    /// What can be said of each dependency. A controller that starts resumes from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub dependencies: Vec<DependencyStatus>,

    /// The seats that remember a restart. A controller that starts resumes from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub seats: Vec<SeatStatus>,

    /// Replicas without the readiness gate although the policy wants one, and what to do: the first 20 by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ungated: Vec<PodNote>,

    /// How many replicas have no readiness gate although the policy wants one.
    #[serde(default)]
    pub ungated_count: u32,

    /// What is true of the policy as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,

    /// The latest 20 transitions of its replicas and of the fleet as a whole, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub transitions: Vec<TransitionStatus>,
}

/// Restarts that a policy ordered, since it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestartCounts {
    /// All of them.
    #[serde(default)]
    pub total: u32,

    /// Of all, those of replicas that had not finished starting.
    #[serde(default)]
    pub in_startup: u32,

    /// Of all, those after which the seat was not judged well within the deadline.
    #[serde(default)]
    pub futile: u32,

    /// Seats that are not restarted any more, since it has not helped.
    #[serde(default)]
    pub gave_up: u32,

    /// Seats that are in a loop now.
    #[serde(default)]
    pub in_loop: u32,
}

/// What the owners want, and what of it serves, although perhaps no request fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityStatus {
    /// Replicas that the owners want.
    #[serde(default)]
    pub desired: u32,

    /// Live replicas that are Ready, have started, and have no rule at its failure threshold.
    #[serde(default)]
    pub serving: u32,

    /// Seats in a restart loop.
    #[serde(default)]
    pub in_loop: u32,

    /// Live replicas that have not started, after a restart that cut the start before short, or for longer than
    /// restart.deadline.
    #[serde(default)]
    pub never_started: u32,

    /// What costs the rest of it, and the setting that would stop it; absent while nothing is in a loop, and everybody
    /// starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
}

/// How long the replicas of one revision took from their container's start to the pass that ended it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartupStatus {
    /// The revision, as its owner labels its pods (pod-template-hash or controller-revision-hash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,

    /// How many of them started.
    pub starts: u32,

    /// How long they took, all together.
    pub total: Duration,

    /// How long the slowest took.
    pub longest: Duration,

    /// The starts by how long they took; those without any are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 12))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub buckets: Vec<StartupBucket>,
}

/// Starts that took alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartupBucket {
    /// So long at most, and longer than the bucket before it; absent for those longer than all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Duration>,

    /// How many starts took so long.
    pub starts: u32,
}

/// What is left of a restart budget. A controller that starts resumes from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetStatus {
    /// So many restarts at once.
    pub left: u32,

    /// When there is one more; absent if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<MicroTime>,

    /// When it is whole again; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_at: Option<MicroTime>,
}

/// What can be said of a rule as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleStatus {
    /// The rule's name: startup, liveness or readiness.
    pub name: RuleName,

    /// Whether any replica has passed it under its present question. Until then it restarts nothing and ejects nothing.
    pub ever_passed: bool,

    /// What the rule asks, as 16 hexadecimal digits: the same as long as handler and container are the same.
    pub question: String,
}

/// What can be said of the heartbeat rule as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatStatus {
    /// Whether any replica has ever beaten. Until then the rule ejects nothing.
    pub ever_beat: bool,

    /// Replicas that have started and were silent for a whole time to live.
    #[serde(default)]
    pub missing: u32,

    /// Replicas that have said that they go.
    #[serde(default)]
    pub deregistered: u32,
}

/// What can be said of a dependency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyStatus {
    /// The dependency's name.
    pub name: String,

    /// Whether it has passed what it is asked. Until then it says nothing.
    pub ever_passed: bool,

    /// What is asked of whom, as 16 hexadecimal digits: the same as long as handler and selector are the same.
    pub question: String,

    /// Since when it is down; absent while it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_since: Option<MicroTime>,

    /// Replicas whose ejection or restart is held for it.
    #[serde(default)]
    pub held: u32,
}

/// A rule's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum RuleName {
    /// The startup rule.
    Startup,
    /// The liveness rule.
    Liveness,
    /// The readiness rule.
    Readiness,
}

/// What a seat remembers of its restarts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeatStatus {
    /// Which seat of its owner: ordinal/N (StatefulSet), node/NAME (DaemonSet) or nth/N (by age of the vacancy).
    pub name: SeatName,

    /// What creates the seat's pods, as kind/name, such as ReplicaSet/web-5f7d.
    pub owner: String,

    /// The owner's UID.
    #[serde(rename = "ownerUID")]
    pub owner_uid: String,

    /// The pod that sits there now, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,

    /// The UID of the pod that sits there now.
    #[serde(default, rename = "podUID", skip_serializing_if = "Option::is_none")]
    pub pod_uid: Option<String>,

    /// Restarts of the seat that this policy ordered and that are not forgotten.
    #[serde(default)]
    pub restarts: u32,

    /// Restarts of the seat by others, such as the kubelet, that are not forgotten.
    #[serde(default)]
    pub foreign: u32,

    /// Restarts of either kind in a row, up to the last, of a pod that had not finished starting.
    #[serde(default)]
    pub cut_short: u32,

    /// The rule that wanted the last restart that this policy ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_rule: Option<RuleName>,

    /// Restarts that this policy ordered, in a row, that did not help.
    #[serde(default)]
    pub futile: u32,

    /// When the last of these restarts was ordered or seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restart: Option<MicroTime>,

    /// Whether they make a loop.
    #[serde(default)]
    pub in_loop: bool,

    /// The restart that is under way: written before it is carried out, removed when the seat is judged well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentStatus>,
}

/// A restart that was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntentStatus {
    /// The pod that is restarted, by name.
    pub pod: String,

    /// The UID of that pod.
    #[serde(rename = "podUID")]
    pub pod_uid: String,

    /// The rule that wants it.
    pub rule: RuleName,

    /// When it was decided.
    pub time: MicroTime,

    /// Whether it was carried out, and counts. Otherwise it was only about to be when this was written.
    #[serde(default)]
    pub carried_out: bool,
}

/// What is to be said of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodNote {
    /// The pod's name.
    pub pod: String,

    /// What is to be said, and what to do about it.
    pub message: String,
}

/// One transition, of a replica or of the fleet as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransitionStatus {
    /// The pod's name; absent if it is about the fleet as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,

    /// What changed, such as Admitted, Ejected or BreakerOpened.
    pub kind: String,

    /// Why, in a word.
    pub reason: String,

    /// Why, in a sentence.
    pub message: String,

    /// When it was decided.
    pub decided: MicroTime,

    /// When the API server acknowledged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<MicroTime>,

    /// When it took effect: the pod's Ready condition followed the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<MicroTime>,

    /// When the EndpointSlices had followed: the first called the pod ready, or none did any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagated: Option<MicroTime>,
}

impl ProbePolicyStatus {
    /// The most entries that `ungated` and `transitions` each hold.
    pub const LIST_LIMIT: usize = 20;
}

impl StartupStatus {
    /// What is said of a revision.
    pub fn new(revision: Option<String>, times: &StartupTimes) -> Self {
        let bounds = StartupTimes::BOUNDS.into_iter().map(|bound| Some(bound.into())).chain([None]);
        let buckets = bounds.zip(times.counts).map(|(up_to, starts)| StartupBucket { up_to, starts });
        Self {
            revision,
            starts: times.starts(),
            total: times.total.into(),
            longest: times.longest.into(),
            buckets: buckets.filter(|bucket| bucket.starts > 0).collect(),
        }
    }

    /// The times that it speaks of, to the millisecond.
    pub fn times(&self) -> StartupTimes {
        let mut times =
            StartupTimes { total: self.total.span(), longest: self.longest.span(), ..StartupTimes::default() };
        for StartupBucket { up_to, starts } in &self.buckets {
            let bucket = up_to.map_or(StartupTimes::BOUNDS.len(), |up_to| StartupTimes::bucket(up_to.span()));
            times.counts[bucket] = *starts;
        }
        times
    }
}

impl From<RuleKind> for RuleName {
    fn from(kind: RuleKind) -> Self {
        match kind {
            RuleKind::Startup => Self::Startup,
            RuleKind::Liveness => Self::Liveness,
            RuleKind::Readiness => Self::Readiness,
        }
    }
}

impl From<RuleName> for RuleKind {
    fn from(name: RuleName) -> Self {
        match name {
            RuleName::Startup => Self::Startup,
            RuleName::Liveness => Self::Liveness,
            RuleName::Readiness => Self::Readiness,
        }
    }
}
