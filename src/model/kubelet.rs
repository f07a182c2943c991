//! The kubelet alone, to compare with: the same probes, and no controller.
//!
//! What is modelled is what bears on a fleet's figures:
//! - It judges each container by itself, by consecutive results alone; the rules wait for startup, and a probe at its
//!   threshold kills ([Kubernetes docs: liveness, readiness and startup probes][probes]). So the engine plays it, under
//!   a policy of which only that is left ([`probes`]).
//! - It restarts the container in place, at once the first time, and then after a crash-loop back-off of 10 s that
//!   doubles to 5 minutes, counted from the end of the container, and begins anew once one has run for more than 10
//!   minutes ([docs: pod lifecycle][backoff], and `doBackOff` of its runtime manager). A process that ends by itself
//!   counts too. Meanwhile the container is down.
//! - A pod is Ready if its container runs and has passed startup and readiness, those of them that it has.
//! - It asks from the replica's own node, so a path that is cut for others is not cut for it.
//!
//! Not modelled: that its attempts have phases of their own and a stuck process takes their whole timeout, how long a
//! container takes to end and to start, that results outlive a container that ended by itself, and what becomes of the
//! pods of a node that is no longer heard of. `docs/faults.md` says what these come to.
//!
//! [probes]: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
//! [backoff]: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restarts

use std::collections::BTreeSet;

use super::world::Pace;
use super::{ModelError, Observer, Run, go};
use crate::api::ParsedPolicy;
use crate::engine::{
    Amount, Backoff, FleetSettings, Mode, OnPolicyChange, PerRule, Policy, Pool, RestartSettings, Rule, RuleKind,
    SharedFailure, Span, Time,
};
use crate::scenario::Scenario;

/// Between the restarts of a container, from its end to its next start.
const BACKOFF: Backoff =
    Backoff { initial: Span::from_secs(10), max: Span::from_secs(300), reset_after: Span::from_secs(600) };

/// Checks that the probes of a policy can be run on a scenario.
pub fn check(scenario: &Scenario, policy: &ParsedPolicy) -> Result<(), ModelError> {
    super::check(scenario, &probes(policy))
}

/// Runs the probes of a policy on a scenario under the kubelet alone.
pub fn run(scenario: &Scenario, policy: &ParsedPolicy) -> Result<Run, ModelError> {
    let kubelet = Kubelet::new(scenario.replicas());
    go(scenario, &probes(policy), Some(kubelet), &mut (), Pace::Skipping)
}

/// The same, watched step by step.
pub fn observe<O: Observer>(scenario: &Scenario, policy: &ParsedPolicy, observer: &mut O) -> Result<Run, ModelError> {
    let kubelet = Kubelet::new(scenario.replicas());
    go(scenario, &probes(policy), Some(kubelet), observer, Pace::Stepping)
}

/// The fields of a policy's rules that no probe has, so that the kubelet does without. What guards restarts and the
/// pool is not among them: that it has nothing of the kind goes without saying.
pub fn left_out(policy: &Policy) -> Vec<String> {
    let fields =
        RuleKind::ALL.into_iter().filter_map(|kind| Some((kind, policy.rule(kind)?))).flat_map(|(kind, rule)| {
            let fields = [
                ("period", rule.period != whole_seconds(rule.period)),
                ("startupPeriod", rule.startup_period.is_some()),
                ("fastPeriod", rule.fast_period.is_some()),
                ("failureWindow", rule.failure_window.is_some()),
            ];
            fields.into_iter().filter(|(_, lost)| *lost).map(move |(field, _)| format!("spec.{kind}.{field}"))
        });
    fields.chain(policy.heartbeat.map(|_| "spec.heartbeat".to_owned())).collect()
}

/// What of a policy probes can say: its rules, in whole seconds, with their consecutive thresholds, and nothing else.
fn probes(policy: &ParsedPolicy) -> ParsedPolicy {
    let of = &policy.policy;
    let probes = Policy {
        mode: Mode::Enforce,
        paused_until: None,
        rules: PerRule::from_fn(|kind| of.rule(kind).map(probe)),
        heartbeat: None,
        restart: RestartSettings {
            max_concurrent: Amount::Percent(100),
            budget: None,
            backoff: Backoff { initial: Span::ZERO, ..BACKOFF },
            give_up_after: None,
            ..of.restart
        },
        pool: Pool::ReadinessGate,
        floor: None,
        on_policy_change: OnPolicyChange::Keep,
        dwell: None,
        fleet: FleetSettings { breaker: None, shared_failure: SharedFailure::Ignore },
        dependencies: Vec::new(),
        generation: of.generation,
        phase: of.phase,
    };
    ParsedPolicy { policy: probes, ..policy.clone() }
}

fn probe(rule: &Rule) -> Rule {
    Rule {
        period: whole_seconds(rule.period),
        startup_period: None,
        fast_period: None,
        failure_window: None,
        ..rule.clone()
    }
}

/// The next whole number of seconds.
fn whole_seconds(period: Span) -> Span {
    Span::from_secs(period.as_nanos().div_ceil(Span::from_secs(1).as_nanos()))
}

/// What the kubelets remember of the containers, one for each replica.
#[derive(Clone, Debug)]
pub(super) struct Kubelet {
    containers: Vec<Restarts>,
    /// Who is down, and when it is started again.
    waiting: BTreeSet<(Time, usize)>,
}

/// The restarts of a container since it last ran long enough.
#[derive(Clone, Copy, Debug, Default)]
struct Restarts {
    count: u32,
    /// When it was last started, or is to be.
    last: Time,
}

/// What becomes of a container that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It is started at once.
    Starts,
    /// It is down until its back-off is over.
    Waits,
}

impl Kubelet {
    fn new(containers: usize) -> Self {
        Self { containers: vec![Restarts::default(); containers], waiting: BTreeSet::new() }
    }

    /// A container that runs ends at `now`.
    pub(super) fn ends(&mut self, replica: usize, now: Time) -> Next {
        let container = &mut self.containers[replica];
        if now.since(container.last) > BACKOFF.reset_after {
            container.count = 0;
        }
        let wait = BACKOFF.wait_after(container.count);
        *container = Restarts { count: container.count + 1, last: now + wait };
        if wait > Span::ZERO {
            self.waiting.insert((container.last, replica));
            Next::Waits
        } else {
            Next::Starts
        }
    }

    /// Takes the next container whose back-off is over at `now`.
    pub(super) fn starts(&mut self, now: Time) -> Option<usize> {
        if self.next()? > now {
            return None;
        }
        self.waiting.pop_first().map(|(_, replica)| replica)
    }

    /// Whether a container waits for its back-off.
    pub(super) fn holds(&self, replica: usize) -> bool {
        self.waiting.contains(&(self.containers[replica].last, replica))
    }

    /// When the next back-off is over.
    pub(super) fn next(&self) -> Option<Time> {
        self.waiting.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::policy_from_str;
    use crate::engine::Phase;

    #[test]
    fn only_what_a_probe_can_say_is_left_of_a_policy() {
        let text = "
            apiVersion: probepolicy.dev/v1alpha1
            kind: ProbePolicy
            metadata: {name: fast}
            spec:
              selector: {matchLabels: {app: fake}}
              liveness: {httpGet: {port: http, path: /live}, period: 5s}
              readiness: {httpGet: {port: http, path: /ready}, period: 1500ms, fastPeriod: 500ms, successThreshold: 2}
              heartbeat: {timeToLive: 3s}";
        let spec = policy_from_str("fast.yaml", text).unwrap().spec;
        let policy = spec.parse(1, Phase::Aligned { origin: Time::ZERO }).unwrap();
        let left_out = left_out(&policy.policy);
        let rules = ["readiness.period", "readiness.fastPeriod", "heartbeat"];
        assert_eq!(left_out, rules.map(|field| format!("spec.{field}")));
        let probes = probes(&policy).policy;
        let readiness = probes.rules.readiness.as_ref().unwrap();
        assert_eq!((readiness.period, readiness.success_threshold.get()), (Span::from_secs(2), 2));
        assert_eq!(super::left_out(&probes), Vec::<String>::new());
    }

    #[test]
    fn a_container_is_restarted_at_once_and_then_after_a_back_off_that_doubles_from_its_end() {
        assert_eq!(waits(&[7; 8]), [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn a_container_that_ran_for_more_than_ten_minutes_begins_anew() {
        assert_eq!(waits(&[7, 7, 7, 600, 601, 7]), [0, 10, 20, 40, 0, 10]);
    }

    #[test]
    fn who_waits_is_down_until_then_and_nobody_else_is() {
        let mut kubelet = Kubelet::new(2);
        assert_eq!(
            (kubelet.ends(0, at(5)), kubelet.ends(0, at(6)), kubelet.ends(1, at(7))),
            (Next::Starts, Next::Waits, Next::Starts)
        );
        assert_eq!((kubelet.holds(0), kubelet.holds(1), kubelet.next()), (true, false, Some(at(16))));
        assert_eq!((kubelet.starts(at(15)), kubelet.starts(at(16)), kubelet.starts(at(16))), (None, Some(0), None));
        assert!(!kubelet.holds(0));
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    /// How long a container that runs so long each time, and then ends, waits to be started again.
    fn waits(runs: &[u64]) -> Vec<u64> {
        let (mut kubelet, mut now) = (Kubelet::new(1), Time::ZERO);
        let waits = runs.iter().map(|run| {
            let end = now + Span::from_secs(*run);
            now = match kubelet.ends(0, end) {
                Next::Starts => end,
                Next::Waits => kubelet.next().unwrap(),
            };
            assert!(now == end || kubelet.starts(now) == Some(0));
            now.since(end).as_nanos() / 1_000_000_000
        });
        waits.collect()
    }
}
