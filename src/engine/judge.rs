//! What one rule holds of one container: its attempts, its streak, its verdict.

use super::proof::{Proof, Standpoint};
use super::schedule::Grid;
use super::window::Recent;
use super::{
    Evidence, Failure, Incarnation, OnPolicyChange, Outcome, OutcomeClass, Question, Reason, Rule, RuleKind, Span, Time,
};

/// How late an attempt that is due may begin. One that we were too blind to begin is left out: to catch up would ask
/// everybody at once, and a container twice in a row.
const LATE: Span = Span::from_secs(1);
/// How long after an attempt's own deadline its answer is waited for before the silence counts as our own fault.
const OVERDUE: Span = Span::from_secs(5);

/// What one rule holds of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judge {
    /// The container it is about.
    pub(super) container: Incarnation,
    /// What was asked.
    pub(super) question: Question,
    /// When that container started, as far as we can tell.
    pub(super) start: Time,
    /// When the next attempt is due; `None` while the rule may not ask.
    pub(super) due: Option<Time>,
    /// The settings that `due` came from.
    pub(super) timing: Option<Timing>,
    /// Attempts begun on this container.
    pub(super) begun: u32,
    /// Failures in a row; never above zero together with `passes`.
    pub(super) fails: u32,
    /// Passes in a row.
    pub(super) passes: u32,
    /// The outcome of the latest attempt that counted.
    pub(super) last: Option<OutcomeClass>,
    /// When the latest failure was heard.
    pub(super) failed_at: Time,
    /// The latest attempts that counted.
    recent: Recent,
    /// Our own errors in a row.
    pub(super) prober_errors: u32,
    /// What the rule has concluded: a verdict outlives the streak that made it.
    pub(super) verdict: Option<Opinion>,
    /// Whether that answers what the rule asks since an edit.
    pub(super) proof: Proof,
    /// The generation of the spec under which the latest attempt that counted was heard.
    pub(super) heard_under: Option<i64>,
    /// Whether the container has passed the rule before.
    pub(super) experience: Experience,
    /// When a quick re-check is due, besides the attempts on the grid.
    pub(super) recheck: Option<Time>,
    /// Re-checks since the last attempt on the grid.
    rechecks: u32,
    /// When the latest attempt began.
    asked: Time,
    /// The latest attempt, while it is under way.
    latest: Option<InFlight>,
    /// Those before it that are still under way, in the order in which they began.
    earlier: Vec<InFlight>,
}

/// What a rule concludes of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opinion {
    /// It passes.
    Good,
    /// It fails.
    Bad,
}

/// What a rule knows of a container's past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Experience {
    /// It has not passed yet.
    New,
    /// It has passed.
    Passed,
}

/// What decides when a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// The instants it asks at.
    pub(super) grid: Grid,
    /// How long it lets a container be first.
    pub(super) initial_delay: Span,
}

/// What a judge's streak and verdict come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    passes: bool,
    /// How the latest attempt failed, if it did.
    suspect_of: Option<Failure>,
    fails_in_a_row: bool,
    fails_often: bool,
    verdict: Option<Opinion>,
}

/// What an attempt is begun for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It was due on the grid.
    OnGrid,
    /// A quick re-check of an undecided streak.
    Recheck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InFlight {
    serial: u32,
    overdue: Time,
}

impl Judge {
    /// A rule that has not asked yet.
    pub(super) fn new(container: Incarnation, question: Question, start: Time) -> Self {
        Self {
            container,
            question,
            start,
            due: None,
            timing: None,
            begun: 0,
            fails: 0,
            passes: 0,
            last: None,
            failed_at: Time::ZERO,
            recent: Recent::default(),
            prober_errors: 0,
            verdict: None,
            proof: Proof::Given,
            heard_under: None,
            experience: Experience::New,
            recheck: None,
            rechecks: 0,
            asked: start,
            latest: None,
            earlier: Vec::new(),
        }
    }

    /// Notes that an attempt with this serial begins now; returns its own deadline.
    pub(super) fn begin(&mut self, serial: u32, now: Time, rule: &Rule, turn: Turn) -> Time {
        let deadline = now + rule.timeout;
        self.begun = self.begun.saturating_add(1);
        self.rechecks = match turn {
            Turn::OnGrid => 0,
            Turn::Recheck => self.rechecks.saturating_add(1),
        };
        self.asked = now;
        self.earlier.extend(self.latest.replace(InFlight { serial, overdue: deadline + OVERDUE }));
        self.plan_recheck(rule, now);
        deadline
    }

    /// From one attempt to the next, unless the streak is undecided.
    pub(super) fn period(&self, rule: &Rule) -> Span {
        match self.experience {
            Experience::New => rule.startup_period.unwrap_or(rule.period),
            Experience::Passed => rule.period,
        }
    }

    /// Whether an attempt is to begin or to be given up.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.turn(now).is_some() || self.overdue().is_some_and(|at| at <= now)
    }

    /// Leaves an attempt out that should have begun long ago; the next one is on the grid.
    pub(super) fn leave_out_missed(&mut self, now: Time) {
        if let Some((due, timing)) = self.due.zip(self.timing)
            && due + LATE < now
        {
            self.due = Some(timing.grid.at_or_after(now));
        }
    }

    /// What an attempt would begin for now, if one is due.
    pub(super) fn turn(&self, now: Time) -> Option<Turn> {
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if is_due(self.due) { Some(Turn::OnGrid) } else { is_due(self.recheck).then_some(Turn::Recheck) }
    }

    /// Whether an attempt is under way.
    pub(super) fn is_asking(&self) -> bool {
        self.latest.is_some() || !self.earlier.is_empty()
    }

    /// When the latest attempt began; if there was none yet, when the container started.
    pub(super) fn asked(&self) -> Time {
        self.asked
    }

    /// Whether another attempt may begin: one is under way at a time, but for quick re-checks.
    pub(super) fn has_room(&self, rule: &Rule) -> bool {
        let most = if self.is_in_doubt(rule) { rule.failure_threshold.get() as usize } else { 1 };
        usize::from(self.latest.is_some()) + self.earlier.len() < most
    }

    /// When the attempts under way, if any, begin to be given up as our own fault.
    pub(super) fn overdue(&self) -> Option<Time> {
        let latest = self.latest.map(|attempt| attempt.overdue);
        if self.earlier.is_empty() {
            return latest;
        }
        latest.into_iter().chain(self.earlier.iter().map(|attempt| attempt.overdue)).min()
    }

    /// Gives up attempts whose answer never came.
    pub(super) fn give_up(&mut self, now: Time) {
        if self.latest.take_if(|attempt| attempt.overdue <= now).is_some() {
            self.prober_errors = self.prober_errors.saturating_add(1);
        }
        if self.earlier.is_empty() {
            return;
        }
        for _ in self.earlier.extract_if(.., |attempt| attempt.overdue <= now) {
            self.prober_errors = self.prober_errors.saturating_add(1);
        }
    }

    /// Takes an attempt's outcome; anything but an attempt under way is void, and so is what one that began before a
    /// pass says after it.
    pub(super) fn finish(&mut self, serial: u32, outcome: Outcome, rule: &Rule, now: Time) -> Option<Evidence> {
        self.give_up(now);
        let evidence = outcome.class.evidence();
        let place = self.earlier.iter().position(|attempt| attempt.serial == serial);
        let older = match (self.latest.take_if(|attempt| attempt.serial == serial), place) {
            (Some(_), _) => self.earlier.len(),
            (None, Some(place)) => {
                self.earlier.remove(place);
                place
            }
            (None, None) => return None,
        };
        match evidence {
            Evidence::Nothing => self.prober_errors = self.prober_errors.saturating_add(1),
            Evidence::Pass => {
                self.earlier.drain(..older);
                (self.passes, self.fails) = (self.passes.saturating_add(1), 0);
                (self.last, self.prober_errors, self.experience) = (Some(outcome.class), 0, Experience::Passed);
            }
            Evidence::Fail => {
                (self.fails, self.passes) = (self.fails.saturating_add(1), 0);
                (self.last, self.prober_errors, self.failed_at) = (Some(outcome.class), 0, now);
            }
        }
        self.recent.note(evidence, 1);
        self.conclude(rule);
        self.plan_recheck(rule, now);
        Some(evidence)
    }

    /// How many further attempts that end so leave its standing as it is; `None`: any number.
    pub(super) fn bears(&self, class: OutcomeClass, rule: &Rule) -> Option<u32> {
        let evidence = class.evidence();
        let fails_otherwise = evidence == Evidence::Fail && class.failure() != self.failure();
        if self.is_in_doubt(rule) || fails_otherwise {
            return Some(0);
        }
        let (streak, threshold) = match evidence {
            // The next may be the first in a while, and not on the grid.
            Evidence::Nothing if self.passes == 0 && self.fails == 0 => return Some(0),
            Evidence::Nothing => return None,
            Evidence::Pass => (self.passes, rule.success_threshold),
            Evidence::Fail => (self.fails, rule.failure_threshold),
        };
        if streak == 0 {
            return Some(0);
        }
        let of_streak = threshold.get().checked_sub(streak.saturating_add(1));
        let of_window = rule.failure_window.and_then(|window| self.recent.bears(evidence, window));
        of_streak.into_iter().chain(of_window).min()
    }

    /// Takes so many attempts on the grid as made, the last of them at `asked`, all of which ended so and left its
    /// standing as it is; the next is due at `due`.
    pub(super) fn skip(&mut self, attempts: u32, class: OutcomeClass, asked: Time, due: Time) {
        self.begun = self.begun.saturating_add(attempts);
        (self.asked, self.rechecks, self.due) = (asked, 0, Some(due));
        let streak = match class.evidence() {
            Evidence::Nothing => {
                self.prober_errors = self.prober_errors.saturating_add(attempts);
                return;
            }
            Evidence::Pass => &mut self.passes,
            Evidence::Fail => {
                self.failed_at = asked;
                &mut self.fails
            }
        };
        *streak = streak.saturating_add(attempts);
        (self.last, self.prober_errors) = (Some(class), 0);
        self.recent.note(class.evidence(), attempts);
    }

    /// Notes under which generation of the spec an attempt that counted was heard.
    pub(super) fn note_generation(&mut self, evidence: Evidence, generation: i64) {
        match evidence {
            Evidence::Pass | Evidence::Fail => self.heard_under = Some(generation),
            Evidence::Nothing => {}
        }
    }

    /// Holds the streak against the rule's thresholds as they are now.
    pub(super) fn conclude(&mut self, rule: &Rule) {
        if self.is_failing(rule) {
            self.verdict = Some(Opinion::Bad);
        } else if self.passes >= rule.success_threshold.get() {
            (self.verdict, self.proof) = (Some(Opinion::Good), Proof::Given);
        }
    }

    /// Says when the next quick re-check is due. After as many as any conclusion takes the streak goes to and fro, and
    /// waits for the grid.
    pub(super) fn plan_recheck(&mut self, rule: &Rule, now: Time) {
        let enough = rule.failure_threshold.get().saturating_add(rule.success_threshold.get());
        let fast = rule.fast_period.filter(|_| self.is_undecided(rule) && self.rechecks < enough);
        self.recheck = fast.map(|fast| now.max(self.asked + fast));
    }

    /// The rule asks something else now: what was heard is void, what was concluded stays as far as `change` says.
    pub(super) fn ask_anew(&mut self, question: Question, change: OnPolicyChange, standpoint: Standpoint) {
        let (verdict, proof) = change.edit(self.verdict, self.proof, standpoint);
        *self = Self { verdict, proof, ..Self::new(self.container, question, self.start) };
    }

    /// Whoever awaits a turn follows the policy as it is now.
    pub(super) fn follow(&mut self, change: OnPolicyChange) {
        if self.proof == Proof::Awaited {
            self.proof = change.awaited();
        }
    }

    /// Forgets the attempt under way and the streak, as after a pause: neither says anything about the present.
    pub(super) fn rest(&mut self) {
        (self.due, self.recheck, self.fails, self.passes) = (None, None, 0, 0);
        self.recent = Recent::default();
        self.latest = None;
        self.earlier.clear();
    }

    /// What was heard since the verdict speaks against it, or for one where there is none, and does not suffice yet. A
    /// window of failures is not emptied any sooner by asking more often.
    fn is_undecided(&self, rule: &Rule) -> bool {
        match self.verdict {
            Some(Opinion::Good) => self.fails > 0,
            Some(Opinion::Bad) => self.passes > 0 && !self.fails_often(rule),
            None => self.fails > 0 || self.passes > 0,
        }
    }

    /// It is undecided, and the rule re-checks that quickly.
    fn is_in_doubt(&self, rule: &Rule) -> bool {
        rule.fast_period.is_some() && self.is_undecided(rule)
    }

    /// The latest attempt failed.
    pub(super) fn is_suspect(&self) -> bool {
        self.fails > 0
    }

    /// The latest attempt that counted passed.
    pub(super) fn passes(&self) -> bool {
        self.passes > 0
    }

    /// How the latest attempt failed, if it did.
    fn failure(&self) -> Option<Failure> {
        self.last.filter(|_| self.is_suspect()).and_then(OutcomeClass::failure)
    }

    /// At least one attempt counted.
    pub(super) fn is_judged(&self) -> bool {
        self.last.is_some()
    }

    /// How long the container has been starting, if a pass at `now` ends that: the rule has asked it from its start on,
    /// or in vain until then.
    pub(super) fn startup_time(&self, rule: &Rule, now: Time) -> Option<Span> {
        let is_known = self.fails > 0 || self.asked.since(self.start) <= rule.initial_delay + rule.period;
        is_known.then(|| now.since(self.start))
    }

    /// What others can tell of it without counting.
    pub(super) fn standing(&self, rule: &Rule) -> Standing {
        let Self { passes, verdict, .. } = *self;
        Standing {
            passes: passes > 0,
            suspect_of: self.failure(),
            fails_in_a_row: self.fails_in_a_row(rule),
            fails_often: self.fails_often(rule),
            verdict,
        }
    }

    /// The streak in words, or the window if that is what fails it.
    pub(super) fn failed(&self, kind: RuleKind, rule: &Rule) -> Reason {
        let (streak, threshold) = (self.fails, rule.failure_threshold.get());
        let last = self.last.unwrap_or(OutcomeClass::ProberError);
        match rule.failure_window.filter(|window| streak < threshold && self.recent.fills(*window)) {
            Some(window) => {
                let (failures, attempts) = (self.recent.failures(window), window.attempts);
                Reason::FailedOften { rule: kind, failures, attempts, last }
            }
            None => Reason::Failed { rule: kind, streak, threshold, last },
        }
    }

    /// The streak is at the threshold, or the window is filled.
    pub(super) fn is_failing(&self, rule: &Rule) -> bool {
        self.fails_in_a_row(rule) || self.fails_often(rule)
    }

    fn fails_in_a_row(&self, rule: &Rule) -> bool {
        self.fails >= rule.failure_threshold.get()
    }

    fn fails_often(&self, rule: &Rule) -> bool {
        rule.failure_window.is_some_and(|window| self.recent.fills(window))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::test_support::rule;
    use super::*;

    fn outcome(class: OutcomeClass) -> Outcome {
        Outcome { class, took: Span::ZERO }
    }

    fn heard(judge: &mut Judge, classes: &[OutcomeClass], rule: &Rule) {
        for class in classes {
            let serial = judge.begun;
            judge.begin(serial, Time::ZERO, rule, Turn::OnGrid);
            judge.finish(serial, outcome(*class), rule, Time::ZERO);
        }
    }

    #[test]
    fn failures_in_a_row_reach_the_threshold_and_a_pass_clears_them() {
        let rule = rule(5, 3);
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::Refused, OutcomeClass::NoResponse], &rule);
        assert!(judge.is_suspect() && !judge.is_failing(&rule));
        heard(&mut judge, &[OutcomeClass::Passed, OutcomeClass::Refused, OutcomeClass::Refused], &rule);
        assert!(!judge.is_failing(&rule));
        heard(&mut judge, &[OutcomeClass::Refused], &rule);
        assert!(judge.is_failing(&rule));
    }

    #[test]
    fn our_own_errors_count_for_nothing() {
        let rule = rule(5, 1);
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::ProberError; 5], &rule);
        assert_eq!((judge.is_judged(), judge.verdict, judge.prober_errors), (false, None, 5));
    }

    #[test]
    fn a_result_of_another_attempt_is_void() {
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        judge.begin(4, Time::ZERO, &rule(5, 1), Turn::OnGrid);
        assert_eq!(judge.finish(3, outcome(OutcomeClass::Refused), &rule(5, 1), Time::ZERO), None);
        assert!(judge.is_asking() && !judge.is_suspect());
    }

    #[test]
    fn a_new_question_voids_the_streak_and_keeps_the_verdict() {
        let rule = rule(5, 1);
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::Passed], &rule);
        judge.ask_anew(Question(2), OnPolicyChange::Keep, Standpoint::In);
        assert_eq!((judge.is_judged(), judge.passes, judge.verdict), (false, 0, Some(Opinion::Good)));
    }

    #[test]
    fn what_began_before_a_pass_is_void_after_it() {
        let rule = Rule { fast_period: Some(Span::from_secs(1)), ..rule(10, 3) };
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::Passed, OutcomeClass::NoResponse], &rule);
        for serial in 10..13 {
            assert!(judge.has_room(&rule));
            judge.begin(serial, Time::ZERO, &rule, Turn::Recheck);
        }
        assert!(!judge.has_room(&rule));
        let mut finish = |serial, class| judge.finish(serial, outcome(class), &rule, Time::ZERO);
        assert_eq!(finish(11, OutcomeClass::Passed), Some(Evidence::Pass));
        assert_eq!(finish(10, OutcomeClass::NoResponse), None);
        assert_eq!(finish(12, OutcomeClass::NoResponse), Some(Evidence::Fail));
        assert_eq!((judge.fails, judge.is_asking()), (1, false));
    }

    #[test]
    fn a_streak_that_goes_to_and_fro_is_rechecked_so_often_and_then_waits_for_the_grid() {
        let rule = Rule {
            fast_period: Some(Span::from_secs(1)),
            success_threshold: NonZeroU32::new(3).unwrap(),
            ..rule(10, 3)
        };
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::Refused], &rule);
        let mut rechecks = 0;
        while let Some(at) = judge.recheck {
            let class = if rechecks % 2 == 0 { OutcomeClass::Passed } else { OutcomeClass::Refused };
            judge.begin(100 + rechecks, at, &rule, Turn::Recheck);
            judge.finish(100 + rechecks, outcome(class), &rule, at);
            rechecks += 1;
        }
        assert_eq!((rechecks, judge.verdict), (6, None));
        judge.begin(0, Time::ZERO, &rule, Turn::OnGrid);
        assert!(judge.recheck.is_some());
    }
}
