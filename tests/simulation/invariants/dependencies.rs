//! What holds of dependencies: when they are asked, and what their failure excuses.

use probe_policy::engine::{
    DependencyAttempt, DependencyState, Effect, Evidence, Gate, Obstacle, PolicyReport, Reason, RuleKind, Span, Time,
    Transition, WhenDown,
};

use super::super::controller::Controller;
use super::super::reference::{Judgement, Naive, is_resting};
use super::Member;

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
        // Its period may be over soon after it was asked for somebody's sake.
        let is_early = asked.began_before.is_some_and(|began| began + SPACING > now);
        assert!(!is_early, "[burst] a dependency is asked three times in less than {SPACING}");
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

    /// Whoever is held for a dependency is so while that fails, or until it was asked, which it is at once.
    pub(super) fn check_excuse(&self, member: &Member<'_>, effects: &[Effect], now: Time) {
        let Some((Gate::Open, Reason::Held { by, .. })) = member.report.gate else { return };
        let Judgement { verdict, failed_at: failed, .. } = member.naive.judgement(RuleKind::Readiness);
        // Whoever is let alone stays as it is, and so does whoever no rule concludes anything of.
        if verdict != Some(Evidence::Fail) || member.is_paused || !Naive::is_gated(member.pod) {
            return;
        }
        match by {
            Obstacle::DependencyDown { dependency, .. } => {
                let asked = self.reference.dependencies.get(dependency).expect("[gone] it is not listed");
                assert!(failed.is_none_or(|failed| asked.excuses(failed)), "[dependency] {dependency} does not fail");
            }
            Obstacle::DependencyAsked { dependency, since } => {
                let asked = self.reference.dependencies.get(dependency).expect("[gone] it is not listed");
                assert!(asked.answered < Some(since), "[dependency] {dependency} was asked");
                let begins = effects.iter().any(|effect| match effect {
                    Effect::AskDependency { attempt, .. } => attempt.dependency == dependency,
                    _ => false,
                });
                let is_soon = begins || asked.is_under_way() || asked.began.is_some_and(|began| began + SPACING > now);
                assert!(is_soon, "[dependency] {dependency} is not asked");
            }
            _ => {}
        }
    }
}
