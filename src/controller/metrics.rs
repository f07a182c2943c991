//! What can be measured, in OpenMetrics. Counters live as long as the process; gauges are read from the state at the
//! moment of the scrape, so that what is gone leaves no series behind.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::replica_states::ReplicaStates;
use super::startup_durations::StartupDurations;
use super::state::{Counts, State};
use crate::cluster::records::ObjectName;
use crate::engine::{DependencyName, Obstacle, Outcome, Refusal, RuleKind, Span};

/// The counters of this process. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    attempts: Family<AttemptLabels, Counter>,
    dependency_attempts: Family<DependencyLabels, Counter>,
    attempt_duration: Family<RuleLabels, Histogram, fn() -> Histogram>,
    restarts: Family<RestartLabels, Counter>,
    restart_refusals: Family<RefusalLabels, Counter>,
    publish_delay: Family<PolicyLabels, Histogram, fn() -> Histogram>,
    effect_delay: Family<PolicyLabels, Histogram, fn() -> Histogram>,
    slice_delay: Family<PolicyLabels, Histogram, fn() -> Histogram>,
    events_dropped: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    rule: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    rule: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RestartLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    refusal: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DependencyLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    dependency: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WouldHaveLabels {
    namespace: Arc<str>,
    policy: Arc<str>,
    what: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: &'static str,
}

type Seconds = Gauge<f64, AtomicU64>;
type Factor = Gauge<f64, AtomicU64>;

impl Metrics {
    /// Counters that all stand at zero.
    pub fn new() -> Self {
        Self {
            attempts: Family::default(),
            dependency_attempts: Family::default(),
            attempt_duration: Family::new_with_constructor(attempt_histogram),
            restarts: Family::default(),
            restart_refusals: Family::default(),
            publish_delay: Family::new_with_constructor(delay_histogram),
            effect_delay: Family::new_with_constructor(delay_histogram),
            slice_delay: Family::new_with_constructor(delay_histogram),
            events_dropped: Counter::default(),
        }
    }

    /// An attempt ended.
    pub fn attempted(&self, policy: &ObjectName, rule: RuleKind, outcome: Outcome) {
        let PolicyLabels { namespace, policy } = labels(policy);
        let duration = RuleLabels { namespace: namespace.clone(), policy: policy.clone(), rule: rule.name() };
        self.attempt_duration.get_or_create(&duration).observe(outcome.took.as_secs_f64());
        let attempt = AttemptLabels { namespace, policy, rule: rule.name(), outcome: outcome.class.name() };
        self.attempts.get_or_create(&attempt).inc();
    }

    /// An attempt at a dependency ended.
    pub fn dependency_asked(&self, policy: &ObjectName, dependency: DependencyName, outcome: Outcome) {
        let PolicyLabels { namespace, policy } = labels(policy);
        let (dependency, outcome) = (dependency.to_string(), outcome.class.name());
        self.dependency_attempts.get_or_create(&DependencyLabels { namespace, policy, dependency, outcome }).inc();
    }

    /// A restart was carried out because of a rule.
    pub fn restarted(&self, policy: &ObjectName, rule: RuleKind) {
        let PolicyLabels { namespace, policy } = labels(policy);
        self.restarts.get_or_create(&RestartLabels { namespace, policy, reason: rule.name() }).inc();
    }

    /// A restart was refused by the API server.
    pub fn restart_refused(&self, policy: &ObjectName, refusal: Refusal) {
        let PolicyLabels { namespace, policy } = labels(policy);
        self.restart_refusals
            .get_or_create(&RefusalLabels { namespace, policy, refusal: Obstacle::Refused(refusal).name() })
            .inc();
    }

    /// A transition was acknowledged by the API server so long after it was decided.
    pub fn published(&self, policy: &ObjectName, after: Span) {
        self.publish_delay.get_or_create(&labels(policy)).observe(after.as_secs_f64());
    }

    /// A pod's `Ready` followed its gate so long after the gate's write was acknowledged.
    pub fn took_effect(&self, policy: &ObjectName, after: Span) {
        self.effect_delay.get_or_create(&labels(policy)).observe(after.as_secs_f64());
    }

    /// A pod entered the slices of Services, or left them, so long after that was decided.
    pub fn propagated(&self, policy: &ObjectName, after: Span) {
        self.slice_delay.get_or_create(&labels(policy)).observe(after.as_secs_f64());
    }

    /// So many events were not sent.
    pub fn events_dropped(&self, count: u32) {
        self.events_dropped.inc_by(u64::from(count));
    }

    /// Everything as OpenMetrics text: the counters, and the gauges of `state` if it is known.
    ///
    /// # Errors
    /// Never in practice: text is written into memory.
    pub fn encode(&self, state: Option<State>) -> Result<String, std::fmt::Error> {
        let mut registry = Registry::with_prefix("probe_policy");
        self.register(&mut registry);
        if let Some(state) = state {
            register_state(&mut registry, state);
        }
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }

    fn register(&self, registry: &mut Registry) {
        registry.register("attempts", "Attempts, by rule and outcome class", self.attempts.clone());
        registry.register(
            "dependency_attempts",
            "Attempts at dependencies, by dependency and outcome class",
            self.dependency_attempts.clone(),
        );
        registry.register_with_unit(
            "attempt_duration",
            "From the start of an attempt to its end",
            Unit::Seconds,
            self.attempt_duration.clone(),
        );
        registry.register("restarts", "Restarts carried out, by the rule that wanted them", self.restarts.clone());
        registry.register(
            "restart_refusals",
            "Restarts that the API server refused, by why",
            self.restart_refusals.clone(),
        );
        registry.register_with_unit(
            "gate_publish_delay",
            "From the decision to the acknowledged write of the gate",
            Unit::Seconds,
            self.publish_delay.clone(),
        );
        registry.register_with_unit(
            "gate_effect_delay",
            "From the acknowledged write of the gate to the pod's Ready condition",
            Unit::Seconds,
            self.effect_delay.clone(),
        );
        registry.register_with_unit(
            "gate_slice_delay",
            "From the decision to the EndpointSlices",
            Unit::Seconds,
            self.slice_delay.clone(),
        );
        registry.register(
            "events_dropped",
            "Events not sent: too many on one object, or refused",
            self.events_dropped.clone(),
        );
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn register_state(registry: &mut Registry, state: State) {
    let leader: Gauge = Gauge::default();
    leader.set(i64::from(state.leader));
    registry.register("leader", "Whether this process leads", leader);

    let stretch = Factor::default();
    stretch.set(state.period_stretch);
    let help = "By how much every period is longer, so that there are not too many attempts a second";
    registry.register("period_stretch", help, stretch);

    let listed: Family<WatchLabels, Gauge> = Family::default();
    let age: Family<WatchLabels, Seconds> = Family::default();
    for watch in &state.watches {
        let labels = WatchLabels { kind: watch.kind };
        listed.get_or_create(&labels).set(i64::from(watch.listed));
        if let Some(seconds) = watch.event_age_seconds {
            age.get_or_create(&labels).set(seconds);
        }
    }
    registry.register("watch_listed", "Whether a watch's first list is complete", listed);
    registry.register_with_unit("watch_event_age", "Since a watch last delivered anything", Unit::Seconds, age);

    for (name, help, count) in COUNTS {
        let gauge: Family<PolicyLabels, Gauge> = Family::default();
        for policy in &state.policies {
            gauge.get_or_create(&policy_labels(policy)).set(i64::from(count(&policy.counts)));
        }
        registry.register(name, help, gauge);
    }

    let lag: Family<PolicyLabels, Seconds> = Family::default();
    for policy in &state.policies {
        lag.get_or_create(&policy_labels(policy)).set(policy.write_lag_seconds);
    }
    registry.register_with_unit("gate_write_lag", "For how long a gate has not been written", Unit::Seconds, lag);

    let would_have: Family<WouldHaveLabels, Counter> = Family::default();
    for state in &state.policies {
        for (what, count) in &state.would_have {
            let PolicyLabels { namespace, policy } = policy_labels(state);
            would_have.get_or_create(&WouldHaveLabels { namespace, policy, what }).inc_by(u64::from(*count));
        }
    }
    registry.register("would_have", "What enforcing would have done, while the policy observes", would_have);

    registry.register_collector(Box::new(StartupDurations::of(&state)));
    registry.register_collector(Box::new(ReplicaStates(state.policies)));
}

type Count = fn(&Counts) -> u32;

const COUNTS: [(&str, &str, Count); 20] = [
    ("replicas", "Live replicas that the policy keeps", |counts| counts.replicas),
    ("starting", "Replicas that have not finished starting", |counts| counts.starting),
    ("in_pool", "Replicas whose pod is Ready", |counts| counts.in_pool),
    ("suspect", "Replicas with a rule whose latest attempt failed", |counts| counts.suspect),
    ("failing", "Replicas with a rule at its threshold", |counts| counts.failing),
    ("paused", "Replicas that are paused", |counts| counts.paused),
    ("desired", "Replicas that the owners want", |counts| counts.desired),
    ("serving", "Replicas that are Ready, have started and do not fail", |counts| counts.serving),
    ("never_started", "Replicas that do not finish starting", |counts| counts.never_started),
    ("gates_unwritten", "Gates that have not been written for a second or more", |counts| counts.unwritten),
    ("applied", "Replicas that all their rules have judged under the spec in force", |counts| counts.applied),
    ("preparing", "Replicas out of the pool until they have passed what an edit asks", |counts| counts.preparing),
    ("loops", "Seats in a restart loop", |counts| counts.in_loop),
    ("gave_up", "Seats that are not restarted any more, since it has not helped", |counts| counts.gave_up),
    ("below_floor", "Whether fewer replicas are ready than the pool must have", |counts| u32::from(counts.below_floor)),
    ("missing", "Replicas that were silent for a whole time to live", |counts| counts.missing),
    ("deregistered", "Replicas that have said that they go", |counts| counts.deregistered),
    ("dependencies_down", "Dependencies that are down", |counts| counts.dependencies_down),
    ("breaker_open", "Whether restarts wait because many replicas are suspect", |counts| {
        u32::from(counts.breaker_open)
    }),
    ("shared_failures", "Nodes and revisions whose restarts wait, since their replicas fail together", |counts| {
        counts.shared_failures
    }),
];

fn policy_labels(policy: &super::state::PolicyState) -> PolicyLabels {
    PolicyLabels { namespace: policy.namespace.as_str().into(), policy: policy.name.as_str().into() }
}

fn labels(policy: &ObjectName) -> PolicyLabels {
    PolicyLabels { namespace: policy.namespace.clone(), policy: policy.name.clone() }
}

fn attempt_histogram() -> Histogram {
    Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0])
}

fn delay_histogram() -> Histogram {
    Histogram::new([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0])
}
