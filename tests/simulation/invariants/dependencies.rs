//! What holds of dependencies: when they are asked, and what their failure excuses.

use probe_policy::engine::{
    DependencyAttempt, DependencyState, Gate, Obstacle, PolicyReport, Reason, RuleKind, Span, Time, Transition,
    WhenDown,
};

use super::super::controller::Controller;
use super::super::reference::{Naive, OVERDUE, is_resting};
use super::{LATE, Member};

/// Between two attempts at a dependency at least.
const SPACING: Span = Span::from_millis(100);

impl Controller {
    /// An attempt at a dependency may begin.
    pub(super) fn check_question(&self, attempt: DependencyAttempt, now: Time) {
        assert_eq!(Some(attempt.policy), self.policy, "[gone] a dependency of another policy is asked");
        let spec = self.spec.as_ref().expect("[gone] a dependency of no policy is asked");
        assert!(!is_resting(spec, now), "[dependency] asked in a pause");
        let asked = self.reference.dependencies.get(attempt.dependency).expect("[gone] it is not listed");
        assert!(!asked.is_under_way(), "[dependency] two attempts at once");
        let is_early = asked.began.is_some_and(|began| began + SPACING > now);
        assert!(!is_early, "[burst] a dependency is asked again after less than {SPACING}");
    }

    /// The engine holds of each what its answers come to.
    pub(super) fn check_dependencies(&self, report: &PolicyReport) {
        for report in &report.dependencies {
            let asked = self.reference.dependencies.get(report.name).expect("[gone] it is not listed");
            let is_failing = match report.state {
                DependencyState::NeverPassed | DependencyState::Up => false,
                DependencyState::Suspect | DependencyState::Down { .. } => true,
            };
            let has_passed = report.state != DependencyState::NeverPassed;
            assert_eq!((has_passed, is_failing), (asked.ever_passed, asked.is_failing()), "[dependency] {report:?}");
        }
    }

    /// Nobody is ejected for failing readiness together with a dependency, nor before each was asked after it failed.
    pub(super) fn check_blame(&self, transition: &Transition, member: &Member<'_>) {
        if !matches!(transition.reason, Reason::Failed { .. } | Reason::FailedOften { .. }) {
            return;
        }
        let judgement = member.naive.judgement(RuleKind::Readiness);
        for (name, asked) in self.reference.dependencies.iter() {
            let excused = judgement.failed_at.is_some_and(|failed| asked.excuses(failed));
            assert!(!excused, "[dependency] ejected while {name} fails");
            let is_asked = !asked.ever_passed || asked.answered >= judgement.fails_since;
            assert!(is_asked, "[dependency] ejected before {name} was asked");
        }
    }

    /// No restart is decided for what fails together with a dependency that holds restarts as well.
    pub(super) fn check_blame_for_restart(&self, naive: &Naive, rule: RuleKind) {
        let failed = naive.judgement(rule).failed_at;
        for (name, asked) in
            self.reference.dependencies.iter().filter(|(_, asked)| asked.when_down == WhenDown::HoldAll)
        {
            let excused = failed.is_some_and(|failed| asked.excuses(failed));
            assert!(!excused, "[dependency] a restart while {name} fails");
        }
    }

    /// Whoever is held for a dependency is so while that fails, or until it was asked, which is not for long.
    pub(super) fn check_excuse(&self, member: &Member<'_>, now: Time) {
        let Some((Gate::Open, Reason::Held { by, .. })) = member.report.gate else { return };
        let spec = self.spec.as_ref().expect("[gone] held by no policy");
        let failed = member.naive.judgement(RuleKind::Readiness).failed_at;
        match by {
            Obstacle::DependencyDown { dependency, .. } => {
                let asked = self.reference.dependencies.get(dependency).expect("[gone] it is not listed");
                assert!(failed.is_none_or(|failed| asked.excuses(failed)), "[dependency] {dependency} does not fail");
            }
            Obstacle::DependencyAsked { dependency, since } => {
                let asked = self.reference.dependencies.get(dependency).expect("[gone] it is not listed");
                assert!(asked.answered < Some(since), "[dependency] {dependency} was asked");
                let timeout = spec.dependencies.iter().map(|it| it.rule.timeout).max().unwrap_or_default();
                // One attempt that began before, and one for it, neither of which is ever answered.
                let most = timeout + OVERDUE + SPACING;
                assert!(since + most + most + LATE >= now, "[dependency] it waits since {:?}", now.since(since));
            }
            _ => {}
        }
    }
}
