//! What a restart budget allows, counted naively: every restart that was carried out, by when it was decided.

use probe_policy::engine::{BudgetSettings, PolicyKey, Span, Time};

/// The restarts that were carried out under the same terms.
#[derive(Default)]
pub struct Ledger {
    terms: Option<Terms>,
    since: Time,
    spent: Vec<Time>,
}

/// What a budget is held against: with other terms counting begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub policy: PolicyKey,
    pub budget: BudgetSettings,
    /// By how much the clock of whoever leads is ahead.
    pub ahead: Span,
}

impl Ledger {
    /// Whoever leads goes by these terms.
    pub fn agree(&mut self, terms: Option<Terms>, now: Time) {
        if self.terms != terms {
            *self = Self { terms, since: now, spent: Vec::new() };
        }
    }

    /// A restart was carried out that was decided then. Panics if in any stretch of time there are more than the budget
    /// holds and earns in it, and one that was under way when its engine was killed.
    pub fn spend(&mut self, decided: Time, now: Time) {
        let Some(Terms { budget, .. }) = self.terms.filter(|_| decided >= self.since) else { return };
        self.spent.push(decided);
        self.spent.sort_unstable();
        for (count, first) in (1..).zip(self.spent.iter().rev()) {
            let earned = now.since(*first).as_nanos() / budget.interval().as_nanos();
            let most = u64::from(budget.restarts.get()) + earned + 1;
            assert!(count <= most, "[budget] {count} restarts where {most} may be");
        }
    }
}
