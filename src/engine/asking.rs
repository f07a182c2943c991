//! What a replica's rules ask it and when, and what they make of the answers.

use super::ceiling::Rate;
use super::fleet::{Edition, Fleet};
use super::judge::{Judge, Timing, Turn};
use super::proof::Standpoint;
use super::rechecks::Rechecks;
use super::replica::{Replica, runs, started_at};
use super::schedule::Grid;
use super::{
    AttemptId, Container, Effect, Evidence, OnPolicyChange, Outcome, OutcomeClass, Pause, PerRule, Policy, PolicyKey,
    Rule, RuleKind, Span, Stretch, Time,
};

/// What came of an attempt.
pub(super) struct Heard {
    pub(super) evidence: Evidence,
    /// With it the replica has finished starting.
    pub(super) starts: bool,
    /// How long that took, if it is known.
    pub(super) took: Option<Span>,
}

impl Replica {
    /// Brings it in line with its fleet and the time, before it is counted or decided on.
    pub(super) fn catch_up(&mut self, fleet: Option<&Fleet>, stretch: Stretch, deaf_until: Time, now: Time) {
        self.reconcile(fleet, stretch, now);
        self.listen(deaf_until, now);
        self.schedule(now);
    }

    /// Brings the judges in line with the policy's rules and the replica's containers, if they may be out of it.
    #[inline]
    pub(super) fn reconcile(&mut self, fleet: Option<&Fleet>, stretch: Stretch, now: Time) {
        let with = Some((fleet.map_or_else(Edition::default, |fleet| fleet.edition), stretch));
        let resumes = self.pause.and_then(Pause::until).is_some_and(|until| until <= now);
        if self.reconciled_with != with || resumes {
            (self.is_settled, self.reconciled_with) = (false, with);
            self.reconcile_with(fleet.and_then(|fleet| fleet.spec.as_deref()), stretch, now);
        }
    }

    fn reconcile_with(&mut self, policy: Option<&Policy>, stretch: Stretch, now: Time) {
        self.pause = policy.and_then(|policy| Pause::at(now, policy, self.seen.paused_until));
        self.foresee(policy);
        for kind in RuleKind::ALL {
            let rule = policy.and_then(|policy| policy.rule(kind));
            let (Some(spec), Some(rule), Some(container)) = (policy, rule, self.container(kind).copied()) else {
                self.judges[kind] = None;
                if policy.is_some() && rule.is_none() {
                    // What was seen may be older than the policy.
                    self.seen.targets[kind] = None;
                }
                continue;
            };
            self.reconcile_judge(kind, spec, rule, container, stretch, now);
        }
        self.reconcile_pulse(policy);
        if self.startup_rule_is_absent() && self.passes_any() {
            self.started = self.lead().map(|lead| lead.incarnation);
        }
    }

    /// How often its rules ask now, by their periods.
    pub(super) fn asks_at(&self, policy: Option<&Policy>) -> Rate {
        let Some(policy) = policy else { return Rate::default() };
        let asking = RuleKind::ALL.into_iter().filter_map(|kind| {
            let judge = self.judges[kind].as_ref().filter(|judge| judge.due.is_some())?;
            Some(judge.period(policy.rule(kind)?))
        });
        asking.fold(Rate::default(), Rate::and)
    }

    /// Starts every attempt that is due.
    pub(super) fn ask(
        &mut self,
        policy_key: PolicyKey,
        policy: &Policy,
        rechecks: &mut Rechecks,
        now: Time,
        effects: &mut Vec<Effect>,
    ) {
        for kind in RuleKind::ALL {
            let Some(judge) = self.judges[kind].as_mut().filter(|judge| judge.is_due(now)) else { continue };
            judge.give_up(now);
            let (Some(rule), Some(timing)) = (policy.rule(kind), judge.timing) else { continue };
            judge.leave_out_missed(now);
            let Some(turn) = judge.turn(now) else { continue };
            if turn == Turn::OnGrid {
                judge.due = Some(if judge.begun == 0 { timing.grid.second(kind, now) } else { timing.grid.after(now) });
            }
            if !judge.has_room(rule) || (turn == Turn::Recheck && !rechecks.take(now)) {
                judge.recheck = None;
                continue;
            }
            let serial = self.serials[kind];
            self.serials[kind] = serial.wrapping_add(1);
            let deadline = judge.begin(serial, now, rule, turn);
            let incarnation = judge.container;
            let attempt = AttemptId { replica: self.key, rule: kind, serial };
            effects.push(Effect::StartAttempt { attempt, policy: policy_key, incarnation, deadline });
        }
    }

    /// Says when each rule asks first that may ask now; the others forget their streaks. Nothing to do while it is
    /// settled.
    fn schedule(&mut self, now: Time) {
        if self.is_settled {
            return;
        }
        let may_ask = self.may_ask();
        for kind in RuleKind::ALL {
            let after_startup = kind != RuleKind::Startup && self.started_at == Some(now);
            let Some(judge) = &mut self.judges[kind] else { continue };
            let Some(timing) = judge.timing.filter(|_| may_ask[kind]) else {
                judge.rest();
                continue;
            };
            let since = judge.start + timing.initial_delay;
            judge.due.get_or_insert_with(|| match after_startup {
                true => timing.grid.after_startup(since, now),
                false => timing.grid.first(since, now),
            });
        }
    }

    /// Takes the outcome of an attempt; `None` if it is void.
    pub(super) fn finish(&mut self, attempt: AttemptId, outcome: Outcome, policy: &Policy, now: Time) -> Option<Heard> {
        let kind = attempt.rule;
        if !self.is_settled && !self.may_ask()[kind] {
            return None;
        }
        let rule = policy.rule(kind)?;
        let judge = self.judges[kind].as_mut()?;
        let (standing, experience) = (judge.standing(rule), judge.experience);
        let took = judge.startup_time(rule, now);
        let evidence = judge.finish(attempt.serial, outcome, rule, now)?;
        judge.note_generation(evidence, policy.generation);
        self.is_settled &= judge.standing(rule) == standing;
        if judge.experience != experience && rule.startup_period.is_some() {
            (self.is_settled, self.reconciled_with) = (false, None);
        }
        let tells_startup = kind == RuleKind::Startup || self.startup_rule_is_absent();
        let starts = evidence == Evidence::Pass && tells_startup && !self.is_started();
        if starts {
            self.is_settled = false;
            self.started = self.lead().map(|lead| lead.incarnation);
            self.started_at = (kind == RuleKind::Startup).then_some(now);
        }
        Some(Heard { evidence, starts, took: took.filter(|_| starts) })
    }

    /// Takes the attempts due before `until` as made, and as answered at once by `answers`, up to the first that may
    /// change what is held of the replica; returns how many those were. `passed` are the rules that somebody has passed.
    pub(super) fn skip(
        &mut self,
        policy: &Policy,
        passed: PerRule<bool>,
        until: Time,
        answers: PerRule<OutcomeClass>,
    ) -> PerRule<u64> {
        let mut skipped = PerRule::default();
        let mut until = self.pulse.as_ref().and_then(|pulse| pulse.turns()).map_or(until, |turns| turns.min(until));
        for kind in RuleKind::ALL {
            let (Some(rule), Some(judge)) = (policy.rule(kind), &self.judges[kind]) else { continue };
            if judge.is_asking() || judge.recheck.is_some() {
                return skipped;
            }
            let Some((due, timing)) = judge.due.zip(judge.timing) else { continue };
            let evidence = answers[kind].evidence();
            let bears =
                if evidence == Evidence::Pass && !passed[kind] { Some(0) } else { judge.bears(answers[kind], rule) };
            if let Some(attempts) = bears {
                until = until.min(timing.grid.nth_after(due, attempts));
            }
        }
        for kind in RuleKind::ALL {
            let Some(judge) = &mut self.judges[kind] else { continue };
            let Some((due, timing)) = judge.due.zip(judge.timing) else { continue };
            let attempts = timing.grid.due_before(due, until);
            if attempts > 0 {
                let [last, next] = [attempts - 1, attempts].map(|n| timing.grid.nth_after(due, n));
                judge.skip(attempts, answers[kind], last, next);
                judge.note_generation(answers[kind].evidence(), policy.generation);
                self.serials[kind] = self.serials[kind].wrapping_add(attempts);
                skipped[kind] = u64::from(attempts);
            }
        }
        skipped
    }

    fn reconcile_judge(
        &mut self,
        kind: RuleKind,
        policy: &Policy,
        rule: &Rule,
        container: Container,
        stretch: Stretch,
        now: Time,
    ) {
        let (change, standpoint) = match kind {
            RuleKind::Startup | RuleKind::Liveness => (OnPolicyChange::Keep, Standpoint::Out),
            RuleKind::Readiness => (policy.on_policy_change, self.gate.standpoint()),
        };
        let slot = &mut self.judges[kind];
        slot.take_if(|judge| judge.container != container.incarnation);
        let is_added = slot.is_none() && self.gate.is_open_for_want_of_a_rule();
        let judge = slot.get_or_insert_with(|| {
            let start = started_at(container.state, self.last_down[kind], now);
            Box::new(Judge::new(container.incarnation, rule.question, start))
        });
        if judge.question != rule.question || is_added {
            judge.ask_anew(rule.question, change, standpoint);
        }
        judge.follow(change);
        let grid = Grid::new(policy.phase, stretch.of(judge.period(rule)), kind, self.seen.spread);
        let timing = Timing { grid, initial_delay: rule.initial_delay };
        if judge.timing != Some(timing) {
            judge.due = (judge.begun > 0).then(|| timing.grid.after(now));
            judge.timing = Some(timing);
        }
        judge.conclude(rule);
        judge.plan_recheck(rule, now);
    }

    /// Which rules may ask at all now.
    pub(super) fn may_ask(&self) -> PerRule<bool> {
        let started = self.is_started();
        let others = started || self.startup_rule_is_absent();
        let asked = self.is_followed();
        PerRule::from_fn(|kind| {
            let turn = match kind {
                RuleKind::Startup => !started,
                RuleKind::Liveness | RuleKind::Readiness => others,
            };
            asked && turn && self.container(kind).is_some_and(|container| runs(container.state))
        })
    }
}
