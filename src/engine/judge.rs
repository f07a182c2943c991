//! What one rule holds of one container: its attempts, its streak, its verdict.

use super::schedule::Grid;
use super::{Evidence, Incarnation, Outcome, OutcomeClass, Question, Reason, Rule, RuleKind, Span, Time};

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
    /// Our own errors in a row.
    pub(super) prober_errors: u32,
    /// What the rule has concluded: a verdict outlives the streak that made it.
    pub(super) verdict: Option<Opinion>,
    in_flight: Option<InFlight>,
}

/// What a rule concludes of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opinion {
    /// It passes.
    Good,
    /// It fails.
    Bad,
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
    is_suspect: bool,
    is_failing: bool,
    verdict: Option<Opinion>,
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
            prober_errors: 0,
            verdict: None,
            in_flight: None,
        }
    }

    /// Notes that an attempt with this serial begins now; returns its own deadline.
    pub(super) fn begin(&mut self, serial: u32, now: Time, timeout: Span) -> Time {
        let deadline = now + timeout;
        self.begun = self.begun.saturating_add(1);
        self.in_flight = Some(InFlight { serial, overdue: deadline + OVERDUE });
        deadline
    }

    /// Whether an attempt is under way.
    pub(super) fn is_asking(&self) -> bool {
        self.in_flight.is_some()
    }

    /// When the attempt under way, if any, is given up as our own fault.
    pub(super) fn overdue(&self) -> Option<Time> {
        self.in_flight.map(|attempt| attempt.overdue)
    }

    /// Gives up an attempt whose answer never came.
    pub(super) fn give_up(&mut self, now: Time) {
        if self.in_flight.take_if(|attempt| attempt.overdue <= now).is_some() {
            self.prober_errors = self.prober_errors.saturating_add(1);
        }
    }

    /// Takes an attempt's outcome; anything but the attempt under way is void.
    pub(super) fn finish(&mut self, serial: u32, outcome: Outcome, rule: &Rule) -> Option<Evidence> {
        self.in_flight.take_if(|attempt| attempt.serial == serial)?;
        let evidence = outcome.class.evidence();
        match evidence {
            Evidence::Nothing => self.prober_errors = self.prober_errors.saturating_add(1),
            Evidence::Pass => {
                (self.passes, self.fails) = (self.passes.saturating_add(1), 0);
                (self.last, self.prober_errors) = (Some(outcome.class), 0);
            }
            Evidence::Fail => {
                (self.fails, self.passes) = (self.fails.saturating_add(1), 0);
                (self.last, self.prober_errors) = (Some(outcome.class), 0);
            }
        }
        self.conclude(rule);
        Some(evidence)
    }

    /// How many further attempts that end so leave its standing as it is; `None`: any number.
    pub(super) fn bears(&self, evidence: Evidence, rule: &Rule) -> Option<u32> {
        let (streak, threshold) = match evidence {
            // The next may be the first in a while, and not on the grid.
            Evidence::Nothing if self.passes == 0 && self.fails == 0 => return Some(0),
            Evidence::Nothing => return None,
            Evidence::Pass => (self.passes, rule.success_threshold),
            Evidence::Fail => (self.fails, rule.failure_threshold),
        };
        if streak == 0 { Some(0) } else { threshold.get().checked_sub(streak.saturating_add(1)) }
    }

    /// Takes so many attempts as made, all of which ended so and left its standing as it is; the next is due at `due`.
    pub(super) fn skip(&mut self, attempts: u32, class: OutcomeClass, due: Time) {
        self.begun = self.begun.saturating_add(attempts);
        self.due = Some(due);
        let streak = match class.evidence() {
            Evidence::Nothing => {
                self.prober_errors = self.prober_errors.saturating_add(attempts);
                return;
            }
            Evidence::Pass => &mut self.passes,
            Evidence::Fail => &mut self.fails,
        };
        *streak = streak.saturating_add(attempts);
        (self.last, self.prober_errors) = (Some(class), 0);
    }

    /// Holds the streak against the rule's thresholds as they are now.
    pub(super) fn conclude(&mut self, rule: &Rule) {
        if self.fails >= rule.failure_threshold.get() {
            self.verdict = Some(Opinion::Bad);
        } else if self.passes >= rule.success_threshold.get() {
            self.verdict = Some(Opinion::Good);
        }
    }

    /// The rule asks something else now: what was heard is void, what was concluded stays until the new question is
    /// answered.
    pub(super) fn ask_anew(&mut self, question: Question) {
        let verdict = self.verdict;
        *self = Self { verdict, ..Self::new(self.container, question, self.start) };
    }

    /// Forgets the attempt under way and the streak, as after a pause: neither says anything about the present.
    pub(super) fn rest(&mut self) {
        (self.due, self.in_flight, self.fails, self.passes) = (None, None, 0, 0);
    }

    /// The latest attempt failed.
    pub(super) fn is_suspect(&self) -> bool {
        self.fails > 0
    }

    /// At least one attempt counted.
    pub(super) fn is_judged(&self) -> bool {
        self.last.is_some()
    }

    /// What others can tell of it without counting.
    pub(super) fn standing(&self, rule: &Rule) -> Standing {
        let Self { passes, verdict, .. } = *self;
        Standing { passes: passes > 0, is_suspect: self.is_suspect(), is_failing: self.is_failing(rule), verdict }
    }

    /// The streak in words.
    pub(super) fn failed(&self, kind: RuleKind, rule: &Rule) -> Reason {
        Reason::Failed {
            rule: kind,
            streak: self.fails,
            threshold: rule.failure_threshold.get(),
            last: self.last.unwrap_or(OutcomeClass::ProberError),
        }
    }

    /// The streak is at the threshold.
    pub(super) fn is_failing(&self, rule: &Rule) -> bool {
        self.fails >= rule.failure_threshold.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::rule;
    use super::*;

    fn outcome(class: OutcomeClass) -> Outcome {
        Outcome { class, took: Span::ZERO }
    }

    fn heard(judge: &mut Judge, classes: &[OutcomeClass], rule: &Rule) {
        for class in classes {
            let serial = judge.begun;
            judge.begin(serial, Time::ZERO, Span::from_secs(1));
            judge.finish(serial, outcome(*class), rule);
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
        judge.begin(4, Time::ZERO, Span::from_secs(1));
        assert_eq!(judge.finish(3, outcome(OutcomeClass::Refused), &rule(5, 1)), None);
        assert!(judge.is_asking() && !judge.is_suspect());
    }

    #[test]
    fn a_new_question_voids_the_streak_and_keeps_the_verdict() {
        let rule = rule(5, 1);
        let mut judge = Judge::new(Incarnation(1), Question(1), Time::ZERO);
        heard(&mut judge, &[OutcomeClass::Passed], &rule);
        judge.ask_anew(Question(2));
        assert_eq!((judge.is_judged(), judge.passes, judge.verdict), (false, 0, Some(Opinion::Good)));
    }
}
