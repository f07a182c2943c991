//! The settings of lesson "replicas": four policies for one scenario. Their files are what people read and apply.

use clap::ValueEnum;

use crate::api::yaml::{self, YamlError};
use crate::api::{Duration, Handler, ParsedPolicy, ProbePolicy, ProbePolicySpec, RuleSpec};
use crate::engine::{RuleKind, Span};
use crate::scenario::{Scenario, ScenarioFile, Speed};

/// The text of the scenario that all settings share.
pub const SCENARIO: &str = include_str!("../../../lessons/replicas/scenario.yaml");

/// A setting of the lesson.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Setting {
    /// Nobody asks anything
    NoProbes,
    /// Liveness and readiness ask the same question
    OneCombinedProbe,
    /// Each asks its own
    LivenessReadiness,
    /// And both wait until startup has passed
    PlusStartup,
}

/// The scenario that all settings share.
pub fn scenario() -> Result<Scenario, YamlError> {
    ScenarioFile::parse("lessons/replicas/scenario.yaml", SCENARIO)
}

impl Setting {
    /// Every setting, in the order of the lesson.
    pub const ALL: [Self; 4] = [Self::NoProbes, Self::OneCombinedProbe, Self::LivenessReadiness, Self::PlusStartup];

    /// Its name in the lesson's table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NoProbes => "no probes",
            Self::OneCombinedProbe => "one combined probe",
            Self::LivenessReadiness => "liveness + readiness",
            Self::PlusStartup => "plus startup",
        }
    }

    /// Its name where blanks are not welcome: that of its file and of its policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoProbes => "no-probes",
            Self::OneCombinedProbe => "one-combined-probe",
            Self::LivenessReadiness => "liveness-readiness",
            Self::PlusStartup => "plus-startup",
        }
    }

    /// Its policy, as it stands in its file.
    pub fn policy(self) -> Result<ProbePolicy, YamlError> {
        let text = match self {
            Self::NoProbes => include_str!("../../../lessons/replicas/settings/no-probes.yaml"),
            Self::OneCombinedProbe => include_str!("../../../lessons/replicas/settings/one-combined-probe.yaml"),
            Self::LivenessReadiness => include_str!("../../../lessons/replicas/settings/liveness-readiness.yaml"),
            Self::PlusStartup => include_str!("../../../lessons/replicas/settings/plus-startup.yaml"),
        };
        yaml::from_str(&format!("lessons/replicas/settings/{}.yaml", self.name()), text)
    }
}

/// Divides every duration of a policy by the speed. What counts in seconds stays at least one.
pub fn at_speed(mut spec: ProbePolicySpec, speed: Speed) -> ProbePolicySpec {
    for rule in [&mut spec.startup, &mut spec.liveness, &mut spec.readiness].into_iter().flatten() {
        let RuleSpec { period, timeout, initial_delay, .. } = rule;
        for duration in [period, timeout, initial_delay] {
            *duration = shorten(*duration, speed);
        }
    }
    let restart = &mut spec.restart;
    for duration in [&mut restart.backoff.initial, &mut restart.backoff.max] {
        *duration = shorten(*duration, speed);
    }
    for duration in [&mut restart.backoff.reset_after, &mut restart.grace_period, &mut restart.deadline] {
        *duration = shorten(*duration, speed).max(Duration::from_secs(1));
    }
    spec
}

/// What a rule of a policy does, in the words and the units of the lesson; empty if the policy has no such rule.
pub fn describe(policy: &ParsedPolicy, kind: RuleKind, turn: Span) -> String {
    let (Some(rule), Some(ask)) = (policy.policy.rule(kind), &policy.asks[kind]) else { return String::new() };
    let period = rule.period.as_nanos() / turn.as_nanos();
    let scope = match (kind, &ask.handler) {
        (RuleKind::Startup | RuleKind::Readiness, _) | (RuleKind::Liveness, Handler::Tcp { .. }) => "",
        (RuleKind::Liveness, Handler::Http { path, .. }) if path == "/ready" => " scope dependency",
        (RuleKind::Liveness, Handler::Http { .. }) => " scope process",
    };
    format!("period {period} threshold {}{scope}", rule.failure_threshold)
}

fn shorten(duration: Duration, speed: Speed) -> Duration {
    Duration::from_millis(speed.shorten(duration.span()).as_nanos() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Amount, Mode, Phase};

    #[test]
    fn every_setting_is_named_as_its_policy_and_on_the_command_line() {
        for setting in Setting::ALL {
            assert_eq!(setting.policy().unwrap().metadata.name.as_deref(), Some(setting.name()));
            assert_eq!(setting.to_possible_value().unwrap().get_name(), setting.name());
        }
        assert_eq!(Setting::value_variants(), Setting::ALL);
    }

    #[test]
    fn the_lesson_has_no_guards_so_none_is_on() {
        for setting in Setting::ALL {
            let policy = setting.policy().unwrap().spec.parse(1, Phase::Spread).unwrap().policy;
            assert_eq!(policy.mode, Mode::Enforce);
            assert_eq!(policy.restart.max_concurrent, Amount::Percent(100));
            assert_eq!(policy.restart.backoff.initial, Span::ZERO);
        }
    }

    #[test]
    fn speed_divides_every_duration_of_a_policy() {
        let fast = at_speed(Setting::PlusStartup.policy().unwrap().spec, "2".parse().unwrap());
        let startup = fast.startup.as_ref().unwrap();
        assert_eq!(startup.period.to_string(), "2s500ms");
        assert_eq!(startup.timeout.to_string(), "500ms");
        assert_eq!(startup.failure_threshold, 6);
        assert_eq!(fast.liveness.as_ref().unwrap().period.to_string(), "2s500ms");
        assert_eq!(fast.readiness.as_ref().unwrap().period.to_string(), "1s");
        assert_eq!(fast.restart.grace_period.to_string(), "1s");
        assert_eq!(fast.restart.deadline.to_string(), "5m");
        assert!(fast.parse(1, Phase::Spread).is_ok());
    }

    #[test]
    fn at_a_speed_that_no_period_can_follow_the_policy_is_refused() {
        let too_fast = at_speed(Setting::PlusStartup.policy().unwrap().spec, "1000".parse().unwrap());
        assert_eq!(too_fast.parse(1, Phase::Spread).unwrap_err().path, "spec.startup.period");
    }
}
