//! A naive model of the dependencies that a policy lists.

use std::collections::BTreeMap;

use probe_policy::engine::{
    Dependency, DependencyAttempt, DependencyName, Evidence, OutcomeClass, Question, Time, WhenDown,
};

use super::OVERDUE;
use super::judgement::{Answers, Entry, Terms};

/// Those of the policy, by name.
#[derive(Default)]
pub struct Dependencies(BTreeMap<DependencyName, Asked>);

/// What is known of one.
pub struct Asked {
    question: Question,
    pub when_down: WhenDown,
    pub ever_passed: bool,
    answers: Answers,
    under_way: Option<UnderWay>,
    /// When the latest attempt began, and when the one before.
    pub began: Option<Time>,
    pub began_before: Option<Time>,
    /// When that attempt began which was the latest to end, or to be given up.
    pub answered: Option<Time>,
    /// When an answer last ended its failing.
    pub recovered: Option<Time>,
}

struct UnderWay {
    serial: u32,
    began: Time,
    deadline: Time,
}

impl Dependencies {
    pub fn get(&self, name: DependencyName) -> Option<&Asked> {
        self.0.get(&name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (DependencyName, &Asked)> {
        self.0.iter().map(|(name, asked)| (*name, asked))
    }

    /// One that is asked something else has never passed.
    pub fn told(&mut self, listed: &[Dependency]) {
        let mut before = std::mem::take(&mut self.0);
        for Dependency { name, rule, when_down } in listed {
            let known = before.remove(name).filter(|known| known.question == rule.question);
            let mut asked = known.unwrap_or_else(|| Asked::new(rule.question, *when_down));
            asked.when_down = *when_down;
            asked.answers.judge_by(Terms::of(rule));
            self.0.insert(*name, asked);
        }
    }

    pub fn passed_before(&mut self, name: DependencyName) {
        self.0.get_mut(&name).expect("it is listed").ever_passed = true;
    }

    pub fn began(&mut self, attempt: DependencyAttempt, deadline: Time, now: Time) {
        let asked = self.0.get_mut(&attempt.dependency).expect("it is listed");
        asked.under_way = Some(UnderWay { serial: attempt.serial, began: now, deadline });
        asked.began_before = asked.began.replace(now);
    }

    pub fn heard(&mut self, attempt: DependencyAttempt, class: OutcomeClass, now: Time) {
        let Some(asked) = self.0.get_mut(&attempt.dependency) else { return };
        asked.give_up(now);
        let Some(ended) = asked.under_way.take_if(|it| it.serial == attempt.serial) else { return };
        let was_failing = asked.is_failing();
        asked.answered = Some(ended.began);
        asked.ever_passed |= class.evidence() == Evidence::Pass;
        asked.answers.add(Entry::Heard(class, now));
        if was_failing && !asked.is_failing() {
            asked.recovered = Some(now);
        }
    }

    /// All that was told is looked at; a policy that is paused asks nothing.
    pub fn polled(&mut self, is_resting: bool, now: Time) {
        for asked in self.0.values_mut() {
            if is_resting {
                asked.under_way = None;
                asked.answers.add_once(Entry::Rested);
            } else {
                asked.give_up(now);
            }
        }
    }
}

impl Asked {
    fn new(question: Question, when_down: WhenDown) -> Self {
        Self {
            question,
            when_down,
            ever_passed: false,
            answers: Answers::default(),
            under_way: None,
            began: None,
            began_before: None,
            answered: None,
            recovered: None,
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Its latest answer was a failure, or it has not passed often enough since it was down.
    pub fn is_failing(&self) -> bool {
        let judgement = self.answers.judgement();
        self.ever_passed && (judgement.fails > 0 || judgement.verdict == Some(Evidence::Fail))
    }

    /// A failure that was heard then is not taken for a replica's own.
    pub fn excuses(&self, failed: Time) -> bool {
        self.is_failing() || self.recovered >= Some(failed)
    }

    fn give_up(&mut self, now: Time) {
        if let Some(lost) = self.under_way.take_if(|it| it.deadline + OVERDUE <= now) {
            self.answered = Some(lost.began);
        }
    }
}
