//! The restart budget: so many restarts of a fleet in so long, whoever wants them.

use super::super::{BudgetSettings, Obstacle, Time};

/// How much of a budget is spent, as the one instant at which it is whole again if nothing more is spent: a bucket of
/// tokens that every restart empties by one, and that fills evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Budget {
    whole_at: Time,
}

impl Budget {
    /// As an earlier engine left it.
    pub(in super::super) fn restore(&mut self, whole_at: Time) {
        self.whole_at = self.whole_at.max(whole_at);
    }

    /// A restart was carried out at `at`.
    pub(super) fn spend(&mut self, settings: Option<BudgetSettings>, at: Time) {
        if let Some(settings) = settings {
            self.whole_at = self.whole_at.max(at) + settings.interval();
        }
    }

    /// A restart that was taken for carried out was not.
    pub(super) fn refund(&mut self, settings: Option<BudgetSettings>) {
        if let Some(settings) = settings {
            self.whole_at = self.whole_at - settings.interval();
        }
    }

    /// An edit may have made it smaller than what is spent; more than all of it cannot be.
    pub(super) fn fit(&mut self, settings: Option<BudgetSettings>, now: Time) {
        if let Some(settings) = settings {
            self.whole_at = self.whole_at.min(now + settings.per);
        }
    }

    /// What stands in the way of a restart beside so many that are decided and not carried out yet.
    pub(super) fn obstacle(self, settings: BudgetSettings, decided: u32, now: Time) -> Option<Obstacle> {
        let BudgetSettings { restarts, per } = settings;
        let obstacle = Obstacle::RestartBudget { restarts: restarts.get(), per, next: self.next(settings, now) };
        (self.left(settings, now) <= decided).then_some(obstacle)
    }

    /// How many restarts are left.
    pub(in super::super) fn left(self, settings: BudgetSettings, now: Time) -> u32 {
        let spent = self.whole_at.since(now).as_nanos().div_ceil(settings.interval().as_nanos());
        settings.restarts.get().saturating_sub(u32::try_from(spent).unwrap_or(u32::MAX))
    }

    /// When there is one more than now.
    pub(in super::super) fn next(self, settings: BudgetSettings, now: Time) -> Time {
        let spent = u64::from(settings.restarts.get() - self.left(settings, now));
        self.whole_at.max(now) - settings.interval() * spent.saturating_sub(1)
    }

    /// When it is whole again; `None` if it is.
    pub(in super::super) fn whole_at(self, now: Time) -> Option<Time> {
        Some(self.whole_at).filter(|at| *at > now)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::super::super::Span;
    use super::*;

    fn settings(restarts: u32, per: u64) -> BudgetSettings {
        BudgetSettings { restarts: NonZeroU32::new(restarts).unwrap(), per: Span::from_nanos(per) }
    }

    proptest! {
        /// Against counting tokens one by one.
        #[test]
        fn a_budget_is_a_bucket_that_fills_by_one_token_an_interval(
            restarts in 1u32..6, interval in 1u64..50, waits in prop::collection::vec(0u64..120, 1..40),
        ) {
            let settings = settings(restarts, interval * u64::from(restarts));
            let (mut budget, mut now) = (Budget::default(), Time::from_nanos(1_000));
            let (mut tokens, mut since) = (restarts, now);
            for wait in waits {
                for _ in 0..wait {
                    now = now + Span::from_nanos(1);
                    if tokens < restarts && now.since(since).as_nanos() == interval {
                        (tokens, since) = (tokens + 1, now);
                    }
                }
                prop_assert_eq!(budget.left(settings, now), tokens);
                if tokens > 0 {
                    since = if tokens == restarts { now } else { since };
                    tokens -= 1;
                    budget.spend(Some(settings), now);
                } else {
                    prop_assert_eq!(budget.next(settings, now), since + Span::from_nanos(interval));
                }
            }
        }
    }

    #[test]
    fn what_is_decided_counts_as_spent_and_what_was_not_carried_out_comes_back() {
        let (three, now) = (settings(3, 30), Time::from_nanos(100));
        let mut budget = Budget::default();
        assert_eq!(budget.obstacle(three, 2, now), None);
        assert!(budget.obstacle(three, 3, now).is_some());
        budget.spend(Some(three), now);
        assert!(budget.obstacle(three, 2, now).is_some());
        budget.refund(Some(three));
        assert_eq!(budget.obstacle(three, 2, now), None);
    }

    #[test]
    fn a_budget_that_becomes_smaller_is_never_overdrawn_for_longer_than_its_time() {
        let mut budget = Budget::default();
        (0..3).for_each(|_| budget.spend(Some(settings(3, 3_000)), Time::ZERO));
        budget.fit(Some(settings(1, 50)), Time::ZERO);
        assert_eq!(budget.whole_at(Time::ZERO), Some(Time::from_nanos(50)));
    }
}
