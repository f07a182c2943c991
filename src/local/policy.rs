//! A policy as processes can be run under it: at the speed of the scenario, asking only what the fake app has.

use crate::api::{Ask, DependencyAsk, ParsedPolicy, SpecError};
use crate::engine::{DwellSettings, PerRule, Policy, RuleKind, Span};
use crate::scenario::{Endpoint, Speed, Store, Unanswerable};

/// The shortest period and the shortest timeout that processes can keep: what the policy's own format allows.
const LEAST: Span = Span::from_millis(10);

/// A policy at a speed.
#[derive(Clone, Debug)]
pub struct PacedPolicy {
    pub(super) policy: Policy,
    pub(super) asks: PerRule<Option<Ask>>,
    pub(super) canaries: Vec<DependencyAsk>,
}

impl PacedPolicy {
    /// The policy with every duration divided by the speed.
    ///
    /// # Errors
    /// If a period or a timeout would be shorter than 10 ms, the fake app has no such endpoint, or beats are to be
    /// heard.
    pub fn new(parsed: &ParsedPolicy, speed: Speed) -> Result<Self, SpecError> {
        let mut policy = parsed.policy.clone();
        if policy.heartbeat.is_some() {
            let sentence = "processes on this machine beat to no engine; the model and a cluster have beats".to_owned();
            return Err(SpecError { path: "spec.heartbeat".to_owned(), sentence });
        }
        for kind in RuleKind::ALL {
            if let Some(ask) = &parsed.asks[kind]
                && let Err(Unanswerable { field, sentence }) = Endpoint::asked_by(&ask.handler)
            {
                return Err(SpecError { path: format!("spec.{kind}.{field}"), sentence });
            }
            let Some(rule) = &mut policy.rules[kind] else { continue };
            rule.initial_delay = speed.shorten(rule.initial_delay);
            let spans = [
                ("period", Some(&mut rule.period)),
                ("startupPeriod", rule.startup_period.as_mut()),
                ("fastPeriod", rule.fast_period.as_mut()),
                ("timeout", Some(&mut rule.timeout)),
            ];
            for (field, span) in spans.into_iter().filter_map(|(field, span)| Some((field, span?))) {
                *span = paced(&format!("spec.{kind}"), field, *span, speed)?;
            }
        }
        for (index, (dependency, ask)) in policy.dependencies.iter_mut().zip(&parsed.canaries).enumerate() {
            let at = format!("spec.fleet.dependencies[{index}]");
            Store::asked_by(&ask.handler)
                .map_err(|Unanswerable { field, sentence }| SpecError { path: format!("{at}.{field}"), sentence })?;
            let rule = &mut dependency.rule;
            for (field, span) in [("period", &mut rule.period), ("timeout", &mut rule.timeout)] {
                *span = paced(&at, field, *span, speed)?;
            }
        }
        let restart = &mut policy.restart;
        let backoff = &mut restart.backoff;
        let per = restart.budget.as_mut().map(|budget| &mut budget.per);
        let spans = [
            &mut backoff.initial,
            &mut backoff.max,
            &mut backoff.reset_after,
            &mut restart.grace_period,
            &mut restart.deadline,
        ];
        for span in spans.into_iter().chain(per) {
            *span = speed.shorten(*span);
        }
        if let Some(floor) = &mut policy.floor {
            floor.cooldown = speed.shorten(floor.cooldown);
        }
        if let Some(DwellSettings { least, ejection }) = &mut policy.dwell {
            for span in [least, &mut ejection.initial, &mut ejection.max, &mut ejection.decay_after] {
                *span = speed.shorten(*span);
            }
        }
        Ok(Self { policy, asks: parsed.asks.clone(), canaries: parsed.canaries.clone() })
    }

    /// What a rule asks.
    pub(super) fn endpoint(&self, rule: RuleKind) -> Option<Endpoint> {
        Endpoint::asked_by(&self.asks[rule].as_ref()?.handler).ok()
    }
}

/// A period or a timeout at that speed, if processes can keep it.
fn paced(at: &str, field: &str, span: Span, speed: Speed) -> Result<Span, SpecError> {
    let paced = speed.shorten(span);
    if paced < LEAST {
        let sentence = format!("at speed {speed} it would be {paced}, and less than {LEAST} cannot be kept");
        return Err(SpecError { path: format!("{at}.{field}"), sentence });
    }
    Ok(paced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::policy_from_str;
    use crate::engine::Phase;

    fn policy(live: &str) -> ParsedPolicy {
        let text = include_str!("../../lessons/replicas/settings/plus-startup.yaml").replace("/live", live);
        policy_from_str("plus-startup.yaml", &text).unwrap().spec.parse(1, Phase::Spread).unwrap()
    }

    #[test]
    fn every_duration_is_divided() {
        let fast = PacedPolicy::new(&policy("/live"), "10".parse().unwrap()).unwrap().policy;
        let startup = fast.rules.startup.unwrap();
        assert_eq!((startup.period, startup.timeout), (Span::from_millis(500), Span::from_millis(100)));
        assert_eq!(startup.failure_threshold.get(), 6);
        assert_eq!(fast.restart.grace_period, Span::from_millis(100));
        assert_eq!(fast.restart.deadline, Span::from_secs(60));
    }

    #[test]
    fn a_speed_that_no_process_can_follow_is_refused_with_the_field() {
        let refused = PacedPolicy::new(&policy("/live"), "500".parse().unwrap()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "spec.startup.timeout: at speed 500 it would be 2ms, and less than 10ms cannot be kept"
        );
    }

    #[test]
    fn a_question_that_the_fake_app_does_not_know_is_refused() {
        let refused = PacedPolicy::new(&policy("/healthz"), Speed::REAL).unwrap_err().to_string();
        assert!(
            refused.starts_with("spec.liveness.httpGet.path: the scripted app has no endpoint /healthz; it has "),
            "{refused}"
        );
    }
}
