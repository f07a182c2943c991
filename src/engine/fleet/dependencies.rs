//! The dependencies of a fleet: asked from time to time, and before anybody is ejected who may fail only with them.

use super::super::agenda::Wake;
use super::super::judge::{Judge, Opinion, Timing, Turn};
use super::super::replica::Replica;
use super::super::schedule::Grid;
use super::super::{
    Dependency, DependencyAttempt, DependencyName, DependencyReport, DependencyState, Effect, Evidence,
    FleetTransitionKind, Incarnation, Obstacle, Outcome, OutcomeClass, Pause, Phase, Policy, PolicyKey, Reason,
    RuleKind, Span, Time, WhenDown,
};
use super::{Fleet, Look};

/// Between two attempts at a dependency, however many replicas are about to be ejected one after the other.
const SPACING: Span = Span::from_millis(100);

/// The dependencies that a policy lists, in its order.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Dependencies {
    asked: Vec<Asked>,
    /// Counts the attempts at all of them, also across edits.
    serial: u32,
    /// Somebody is not ejected until each of them was asked after this.
    questioned: Option<Time>,
}

/// A dependency, and what is held of it.
#[derive(Clone, Debug)]
struct Asked {
    dependency: Dependency,
    judge: Judge,
    /// It has passed under its present question. One that never has says nothing.
    ever_passed: bool,
    /// When the latest attempt began that is over, whatever came of it.
    answered: Option<Time>,
    /// Since when it is down.
    down: Option<Time>,
    /// When it last ceased to fail.
    recovered: Option<Time>,
}

/// What an answer changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Answered {
    /// Whether it may move anybody's gate or restart.
    pub(in super::super) matters: bool,
    /// What is to be told of the fleet.
    pub(in super::super) tells: Option<(FleetTransitionKind, Reason)>,
}

impl Fleet {
    /// What speaks against ejecting a replica for failing readiness: what it depends on fails too, or did when it was
    /// asked last.
    pub(in super::super) fn failed_dependency(&self, replica: &Replica) -> Option<Obstacle> {
        self.dependencies.excuses_ejection(replica.judges.readiness.as_ref()?.failed_at)
    }

    /// What speaks against ejecting it before that is known. Failures that follow do not make the wait any longer.
    pub(in super::super) fn dependency_in_question(&self, replica: &Replica) -> Option<Obstacle> {
        let failed = replica.judges.readiness.as_ref()?.failed_at;
        self.dependencies.to_be_asked(waits_since(replica).unwrap_or(failed))
    }

    /// Has the dependencies asked that a replica waits for; says whether it does.
    pub(in super::super) fn questions_dependencies(&mut self, replica: &Replica) -> bool {
        let since = waits_since(replica);
        if let Some(since) = since {
            self.dependencies.question(since);
        }
        since.is_some()
    }

    /// Has the dependencies asked that are due, unless the policy is let alone.
    pub(super) fn ask_dependencies(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        if Pause::at(look.now, spec, None).is_some() {
            self.dependencies.rest();
        } else if self.dependencies.ask(look.key, spec.phase, look.now, look.recorder.effects()) {
            self.look_at_all(look);
        }
    }
}

impl Dependencies {
    /// Takes the list of a newer spec. One that asks something else has not passed yet.
    pub(super) fn set(&mut self, listed: &[Dependency]) {
        let mut before = std::mem::take(&mut self.asked);
        self.asked = listed
            .iter()
            .map(|dependency| {
                let asks_the_same = |old: &Asked| {
                    (old.dependency.name, old.dependency.rule.question) == (dependency.name, dependency.rule.question)
                };
                match before.iter().position(asks_the_same) {
                    Some(at) => before.swap_remove(at).edited(dependency.clone()),
                    None => Asked::new(dependency.clone()),
                }
            })
            .collect();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// One of them has passed under an earlier engine.
    pub(in super::super) fn passed_before(&mut self, name: DependencyName) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.dependency.name == name) {
            asked.ever_passed = true;
        }
    }

    /// Somebody is to be ejected, unless one of them fails when it is asked then or later.
    fn question(&mut self, since: Time) {
        self.questioned = self.questioned.max(Some(since));
    }

    /// Starts every attempt that is due. Says whether an answer that never came frees those who wait for it.
    fn ask(&mut self, policy: PolicyKey, phase: Phase, now: Time, effects: &mut Vec<Effect>) -> bool {
        let mut frees = false;
        for (index, asked) in (0..).zip(&mut self.asked) {
            frees |= asked.give_up(now);
            let Some(turn) = asked.turn(phase, (u64::from(policy.0) << 8) | index, self.questioned, now) else {
                continue;
            };
            let serial = self.serial;
            self.serial = serial.wrapping_add(1);
            let deadline = asked.judge.begin(serial, now, &asked.dependency.rule, turn);
            let attempt = DependencyAttempt { policy, dependency: asked.dependency.name, serial };
            effects.push(Effect::AskDependency { attempt, deadline });
        }
        frees
    }

    /// Forgets what is under way, as in a pause.
    fn rest(&mut self) {
        self.asked.iter_mut().for_each(|asked| asked.judge.rest());
    }

    /// Takes the answer to an attempt; `None` if it is void.
    pub(in super::super) fn finish(
        &mut self,
        attempt: DependencyAttempt,
        outcome: Outcome,
        now: Time,
    ) -> Option<Answered> {
        let waited_for = self.questioned;
        let asked = self.asked.iter_mut().find(|asked| asked.dependency.name == attempt.dependency)?;
        asked.finish(attempt.serial, outcome, waited_for, now)
    }

    /// What speaks against an ejection for a failure that was heard then: one of them fails, or did then.
    fn excuses_ejection(&self, failed: Time) -> Option<Obstacle> {
        self.asked.iter().find_map(|asked| asked.excuses(failed))
    }

    /// What speaks against a restart for such a failure.
    pub(super) fn excuses_restart(&self, failed: Time) -> Option<Obstacle> {
        let mut holding = self.asked.iter().filter(|asked| asked.dependency.when_down == WhenDown::HoldAll);
        holding.find_map(|asked| asked.excuses(failed))
    }

    /// The first that was not asked since then, so that what it said last is older than what somebody is to be ejected
    /// for.
    fn to_be_asked(&self, since: Time) -> Option<Obstacle> {
        let asked = self.asked.iter().find(|asked| asked.ever_passed && asked.answered < Some(since))?;
        Some(Obstacle::DependencyAsked { dependency: asked.dependency.name, since })
    }

    /// When one of them is to be asked, or given up.
    pub(super) fn wakes(&self, first: &mut Wake) {
        for asked in &self.asked {
            first.or(asked.judge.due, "dependency to be asked");
            first.or(asked.judge.recheck, "dependency to be asked");
            first.or(asked.judge.overdue(), "dependency overdue");
        }
    }

    pub(in super::super) fn reports(&self) -> Vec<DependencyReport> {
        self.asked.iter().map(Asked::report).collect()
    }
}

impl Asked {
    fn new(dependency: Dependency) -> Self {
        let judge = Judge::new(Incarnation(0), dependency.rule.question, Time::ZERO);
        Self { dependency, judge, ever_passed: false, answered: None, down: None, recovered: None }
    }

    /// The same question by other terms, which count for what was answered already.
    fn edited(mut self, dependency: Dependency) -> Self {
        self.judge.conclude(&dependency.rule);
        self.dependency = dependency;
        self
    }

    /// Its latest attempt failed, or it has not passed often enough since it was down.
    fn is_failing(&self) -> bool {
        self.ever_passed && (self.judge.is_suspect() || self.judge.verdict == Some(Opinion::Bad))
    }

    /// It fails, or did when a failure of somebody was heard.
    fn excuses(&self, failed: Time) -> Option<Obstacle> {
        let goes_with_it = self.is_failing() || self.recovered >= Some(failed);
        goes_with_it.then_some(Obstacle::DependencyDown { dependency: self.dependency.name, last: self.failure() })
    }

    fn failure(&self) -> Option<OutcomeClass> {
        self.judge.last.filter(|last| last.failure().is_some())
    }

    /// Gives up an attempt whose answer never came: it says nothing, and nobody waits for it any more.
    fn give_up(&mut self, now: Time) -> bool {
        let was_asking = self.judge.is_asking();
        self.judge.give_up(now);
        let gave_up = was_asking && !self.judge.is_asking();
        if gave_up {
            self.answered = Some(self.judge.asked());
        }
        gave_up
    }

    /// What an attempt would begin for now, if one is due.
    fn turn(&mut self, phase: Phase, spread: u64, questioned: Option<Time>, now: Time) -> Option<Turn> {
        let Self { dependency, judge, .. } = self;
        let grid = Grid::new(phase, dependency.rule.period, RuleKind::Readiness, spread);
        let timing = Timing { grid, initial_delay: Span::ZERO };
        if judge.timing != Some(timing) {
            judge.due = (judge.begun > 0).then(|| grid.after(now));
            judge.timing = Some(timing);
        }
        judge.due.get_or_insert_with(|| grid.first(now, now));
        judge.leave_out_missed(now);
        let is_questioned = self.ever_passed && !self.is_failing() && self.answered < questioned;
        let judge = &mut self.judge;
        judge.recheck = (is_questioned && !judge.is_asking()).then(|| now.max(judge.asked() + SPACING));
        let turn = judge.turn(now)?;
        if turn == Turn::OnGrid {
            judge.due = Some(if judge.begun == 0 { grid.second(RuleKind::Readiness, now) } else { grid.after(now) });
        }
        (!judge.is_asking()).then_some(turn)
    }

    fn finish(&mut self, serial: u32, outcome: Outcome, waited_for: Option<Time>, now: Time) -> Option<Answered> {
        let frees = self.give_up(now);
        let was_failing = self.is_failing();
        let Some(evidence) = self.judge.finish(serial, outcome, &self.dependency.rule, now) else {
            return frees.then_some(Answered { matters: true, tells: None });
        };
        let is_waited_for = self.answered < waited_for;
        self.answered = Some(self.judge.asked());
        self.ever_passed |= evidence == Evidence::Pass;
        if was_failing && !self.is_failing() {
            self.recovered = Some(now);
        }
        Some(Answered { matters: is_waited_for || was_failing != self.is_failing(), tells: self.turned(now) })
    }

    /// Notes whether it is down now; says what is to be told of that.
    fn turned(&mut self, now: Time) -> Option<(FleetTransitionKind, Reason)> {
        let name = self.dependency.name;
        let is_down = self.ever_passed && self.judge.verdict == Some(Opinion::Bad);
        match (self.down, is_down) {
            (None, true) => {
                self.down = Some(now);
                let reason =
                    Reason::DependencyFails { dependency: name, streak: self.judge.fails, last: self.failure() };
                Some((FleetTransitionKind::DependencyWentDown, reason))
            }
            (Some(since), false) => {
                self.down = None;
                let reason = Reason::DependencyPasses { dependency: name, after: now.since(since) };
                Some((FleetTransitionKind::DependencyCameBack, reason))
            }
            (None, false) | (Some(_), true) => None,
        }
    }

    fn report(&self) -> DependencyReport {
        let state = match self.down {
            _ if !self.ever_passed => DependencyState::NeverPassed,
            Some(since) if self.is_failing() => DependencyState::Down { since },
            None if self.is_failing() => DependencyState::Suspect,
            Some(_) | None => DependencyState::Up,
        };
        DependencyReport {
            name: self.dependency.name,
            state,
            last: self.judge.last,
            prober_errors: self.judge.prober_errors,
        }
    }
}

/// Since when its ejection waits for what a dependency says.
fn waits_since(replica: &Replica) -> Option<Time> {
    match replica.decided().held() {
        Some((_, Reason::Held { by: Obstacle::DependencyAsked { since, .. }, .. })) => Some(since),
        Some(_) | None => None,
    }
}
