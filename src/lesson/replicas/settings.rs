//! The settings of lesson "replicas": four policies for one scenario. Their files are what people read and apply.

use clap::ValueEnum;

use super::tables;
use crate::api::yaml::{self, YamlError};
use crate::api::{Handler, ParsedPolicy, ProbePolicy};
use crate::engine::{RuleKind, Span};
use crate::lesson::LessonError;
use crate::lesson::cluster_world::Observation;
use crate::lesson::comparison::Choice;
use crate::local::Run;
use crate::report::{COLUMNS, Cell, Figures, Traffic};
use crate::scenario::Scenario;

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

impl Choice for Setting {
    const LESSON: &'static str = "replicas";
    const SCENARIO: &'static str = include_str!("../../../lessons/replicas/scenario.yaml");
    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn title(self) -> &'static str {
        match self {
            Self::NoProbes => "no probes",
            Self::OneCombinedProbe => "one combined probe",
            Self::LivenessReadiness => "liveness + readiness",
            Self::PlusStartup => "plus startup",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::NoProbes => "no-probes",
            Self::OneCombinedProbe => "one-combined-probe",
            Self::LivenessReadiness => "liveness-readiness",
            Self::PlusStartup => "plus-startup",
        }
    }

    fn policy(self) -> Result<ProbePolicy, YamlError> {
        self.policy()
    }

    fn in_model(self, scenario: &Scenario) -> Result<Vec<Cell>, LessonError> {
        Ok(tables::modelled(scenario, &self.policy()?.spec)?.columns().to_vec())
    }

    fn on_processes(self, run: &Run) -> Vec<Cell> {
        Figures::from(run).columns().to_vec()
    }

    fn on_pods(self, _scenario: &Scenario, seen: &Observation) -> Vec<Cell> {
        Figures::new(&seen.restarts, Traffic::from(&seen.summary)).columns().to_vec()
    }
}

impl Setting {
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

/// What a rule of a policy does, in the words and the units of the lesson; empty if the policy has no such rule.
pub fn describe(policy: &ParsedPolicy, kind: RuleKind, turn: Span) -> String {
    let (Some(rule), Some(ask)) = (policy.policy.rule(kind), &policy.asks[kind]) else { return String::new() };
    let period = rule.period.as_nanos() / turn.as_nanos();
    let scope = match (kind, &ask.handler) {
        (RuleKind::Startup | RuleKind::Readiness, _)
        | (RuleKind::Liveness, Handler::Tcp(_) | Handler::Grpc(_) | Handler::Exec(_)) => "",
        (RuleKind::Liveness, Handler::Http(get)) if get.path() == "/ready" => " scope dependency",
        (RuleKind::Liveness, Handler::Http(_)) => " scope process",
    };
    format!("period {period} threshold {}{scope}", rule.failure_threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Amount, Mode, Phase};

    #[test]
    fn every_setting_is_named_as_its_policy_and_on_the_command_line() {
        for setting in Setting::value_variants() {
            assert_eq!(setting.policy().unwrap().metadata.name.as_deref(), Some(setting.name()));
            assert_eq!(setting.to_possible_value().unwrap().get_name(), setting.name());
        }
    }

    #[test]
    fn the_lesson_has_no_guards_so_none_is_on() {
        for setting in Setting::value_variants() {
            let policy = setting.policy().unwrap().spec.parse(1, Phase::Spread).unwrap().policy;
            assert_eq!(policy.mode, Mode::Enforce);
            assert_eq!(policy.restart.max_concurrent, Amount::Percent(100));
            assert_eq!(policy.restart.backoff.initial, Span::ZERO);
        }
    }
}
