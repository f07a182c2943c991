//! What a replica's rules ask it and when, and what they make of the answers.

use super::fleet::{Edition, Fleet};
use super::judge::{Judge, Timing};
use super::replica::{Replica, runs, started_at};
use super::schedule::Grid;
use super::{
    AttemptId, Container, Effect, Evidence, Mode, Outcome, OutcomeClass, PerRule, Policy, PolicyKey, Rule, RuleKind,
    Time,
};

impl Replica {
    /// Brings the judges in line with the policy's rules and the replica's containers.
    pub(super) fn reconcile(&mut self, fleet: Option<&Fleet>, now: Time) {
        let edition = Some(fleet.map_or_else(Edition::default, |fleet| fleet.edition));
        if self.reconciled_with == edition {
            return;
        }
        (self.is_settled, self.reconciled_with) = (false, edition);
        let policy = fleet.and_then(|fleet| fleet.spec.as_deref());
        for kind in RuleKind::ALL {
            let rule = policy.and_then(|policy| policy.rule(kind));
            let (Some(spec), Some(rule), Some(container)) = (policy, rule, self.container(kind)) else {
                self.judges[kind] = None;
                if policy.is_some() && rule.is_none() {
                    // What was seen may be older than the policy.
                    self.seen.targets[kind] = None;
                }
                continue;
            };
            self.reconcile_judge(kind, spec, rule, container, now);
        }
        if self.startup_rule_is_absent() && self.judges_passed() {
            self.started = self.lead().map(|lead| lead.incarnation);
        }
    }

    /// Starts every attempt that is due.
    pub(super) fn ask(&mut self, policy_key: PolicyKey, policy: &Policy, now: Time, effects: &mut Vec<Effect>) {
        for kind in RuleKind::ALL {
            let may_ask = self.may_ask(kind, policy);
            let after_startup = kind != RuleKind::Startup && self.started_at == Some(now);
            let (Some(rule), Some(judge)) = (policy.rule(kind), &mut self.judges[kind]) else { continue };
            judge.give_up(now);
            let Some(timing) = judge.timing else { continue };
            if !may_ask {
                judge.rest();
                continue;
            }
            let since = judge.start + timing.initial_delay;
            let due = *judge.due.get_or_insert_with(|| match after_startup {
                true => timing.grid.after_startup(since, now),
                false => timing.grid.first(since, now),
            });
            if due > now {
                continue;
            }
            if judge.is_asking() {
                judge.due = Some(timing.grid.after(now));
                continue;
            }
            let serial = self.serials[kind];
            self.serials[kind] = serial.wrapping_add(1);
            let deadline = judge.begin(serial, now, rule.timeout);
            judge.due = Some(if judge.begun == 1 { timing.grid.second(kind, now) } else { timing.grid.after(now) });
            let incarnation = judge.container;
            let attempt = AttemptId { replica: self.key, rule: kind, serial };
            effects.push(Effect::StartAttempt { attempt, policy: policy_key, incarnation, deadline });
        }
    }

    /// Takes the outcome of an attempt; `None` if it is void.
    pub(super) fn finish(
        &mut self,
        attempt: AttemptId,
        outcome: Outcome,
        policy: &Policy,
        now: Time,
    ) -> Option<Evidence> {
        let kind = attempt.rule;
        let rule = policy.rule(kind)?;
        let judge = self.judges[kind].as_mut()?;
        let standing = judge.standing(rule);
        let evidence = judge.finish(attempt.serial, outcome, rule)?;
        self.is_settled &= judge.standing(rule) == standing;
        let tells_startup = kind == RuleKind::Startup || self.startup_rule_is_absent();
        if evidence == Evidence::Pass && tells_startup && !self.is_started() {
            self.is_settled = false;
            self.started = self.lead().map(|lead| lead.incarnation);
            self.started_at = (kind == RuleKind::Startup).then_some(now);
        }
        Some(evidence)
    }

    /// Takes the attempts due before `until` as made, and as answered at once by `answers`, up to the first that may
    /// change what is held of the replica; returns how many those were. `passed` are the rules that somebody has passed.
    pub(super) fn skip(
        &mut self,
        policy: &Policy,
        passed: PerRule<bool>,
        until: Time,
        answers: PerRule<OutcomeClass>,
    ) -> u64 {
        let mut until = until;
        for kind in RuleKind::ALL {
            let (Some(rule), Some(judge)) = (policy.rule(kind), &self.judges[kind]) else { continue };
            if judge.is_asking() {
                return 0;
            }
            let Some((due, timing)) = judge.due.zip(judge.timing) else { continue };
            let evidence = answers[kind].evidence();
            let bears = if evidence == Evidence::Pass && !passed[kind] { Some(0) } else { judge.bears(evidence, rule) };
            if let Some(attempts) = bears {
                until = until.min(timing.grid.nth_after(due, attempts));
            }
        }
        let mut skipped = 0;
        for kind in RuleKind::ALL {
            let Some(judge) = &mut self.judges[kind] else { continue };
            let Some((due, timing)) = judge.due.zip(judge.timing) else { continue };
            let attempts = timing.grid.due_before(due, until);
            if attempts > 0 {
                judge.skip(attempts, answers[kind], timing.grid.nth_after(due, attempts));
                self.serials[kind] = self.serials[kind].wrapping_add(attempts);
                skipped += u64::from(attempts);
            }
        }
        skipped
    }

    fn reconcile_judge(&mut self, kind: RuleKind, policy: &Policy, rule: &Rule, container: Container, now: Time) {
        let timing =
            Timing { grid: Grid::new(policy.phase, rule, kind, self.seen.spread), initial_delay: rule.initial_delay };
        let start = started_at(container.state, self.last_down[kind], now);
        let same = self.judges[kind].take_if(|judge| judge.container == container.incarnation);
        let mut judge = same.unwrap_or_else(|| Judge::new(container.incarnation, rule.question, start));
        if judge.question != rule.question {
            judge.ask_anew(rule.question);
        }
        if judge.timing != Some(timing) {
            judge.due = (judge.begun > 0).then(|| timing.grid.after(now));
            judge.timing = Some(timing);
        }
        judge.conclude(rule);
        self.judges[kind] = Some(judge);
    }

    /// Whether the rule may ask at all now.
    pub(super) fn may_ask(&self, kind: RuleKind, policy: &Policy) -> bool {
        let turn = match kind {
            RuleKind::Startup => !self.is_started(),
            RuleKind::Liveness | RuleKind::Readiness => self.is_started() || self.startup_rule_is_absent(),
        };
        turn && policy.mode != Mode::Paused
            && self.is_live()
            && self.container(kind).is_some_and(|container| runs(container.state))
    }
}
