//! The store that some policies list, whose answers get lost and late as all others.

use super::super::test_support::rule;
use super::*;

/// How long an attempt may be under way before the engine gives it up.
const GIVEN_UP_AFTER: Span = Span::from_secs(6);

#[derive(Default)]
pub(super) struct Store {
    pub(super) is_down: bool,
    in_flight: BTreeMap<DependencyAttempt, Time>,
    /// It has ever passed.
    pub(super) passed: bool,
    /// The latest answer that the present engine has heard was no.
    fails: bool,
    /// Somebody was let in peace for it.
    pub(super) has_spared: bool,
}

impl Store {
    pub(super) fn listed() -> Dependency {
        let rule = Rule { period: Span::from_secs(3), ..rule(3, 2) };
        Dependency { name: DependencyName::new("store").unwrap(), rule, when_down: WhenDown::HoldAll }
    }

    /// What was heard and what is under way is void.
    pub(super) fn forget(&mut self) {
        self.in_flight.clear();
        self.fails = false;
    }
}

impl World {
    pub(super) fn ask_store(&mut self, attempt: DependencyAttempt) {
        let seed = self.seed;
        assert!(
            self.spec.paused_until.is_none_or(|until| until <= self.now),
            "seed {seed}: the store asked in a pause"
        );
        self.store.in_flight.retain(|_, began| self.now.since(*began) < GIVEN_UP_AFTER);
        assert!(self.store.in_flight.is_empty(), "seed {seed}: two attempts at the store at once");
        self.store.in_flight.insert(attempt, self.now);
    }

    /// Answers most attempts, some of them by our own fault.
    pub(super) fn answer_for_store(&mut self) {
        if self.spec.dependencies.is_empty() {
            return;
        }
        self.store.is_down ^= self.below(40) == 0;
        if self.spec.paused_until.is_some_and(|until| until > self.now) {
            self.store.forget();
        }
        for (attempt, began) in std::mem::take(&mut self.store.in_flight) {
            let class = match self.below(8) {
                0 => OutcomeClass::ProberError,
                _ if self.store.is_down => OutcomeClass::NoResponse,
                _ => OutcomeClass::Passed,
            };
            if self.below(6) == 0 || self.now.since(began) >= GIVEN_UP_AFTER {
                self.store.in_flight.insert(attempt, began);
                continue;
            }
            match class.evidence() {
                Evidence::Pass => (self.store.passed, self.store.fails) = (true, false),
                Evidence::Fail => self.store.fails = self.store.passed,
                Evidence::Nothing => {}
            }
            let outcome = Outcome { class, took: Span::ZERO };
            self.engine.handle(self.now, Input::DependencyAnswered { attempt, outcome });
        }
    }

    /// While the store fails, nobody is ejected for failing readiness, and no restart is decided.
    pub(super) fn check_store(&mut self, effects: &[Effect]) {
        let seed = self.seed;
        for effect in effects {
            let Effect::Record(Transition { kind, reason, .. }) = effect else { continue };
            let is_heard = matches!(reason, Reason::Failed { .. } | Reason::FailedOften { .. });
            let acts = matches!(kind, TransitionKind::Ejected | TransitionKind::RestartDecided) && is_heard;
            assert!(!(self.store.fails && acts), "seed {seed}: {kind:?} while the store fails: {reason}");
        }
        let Some(report) = self.engine.report(POLICY, self.now).filter(|_| self.store.fails) else { return };
        let is_spared = |replica: &ReplicaReport| {
            matches!(replica.gate, Some((Gate::Open, Reason::Held { by: Obstacle::DependencyDown { .. }, .. })))
        };
        self.store.has_spared |= report.replica_reports.iter().any(is_spared);
    }
}
