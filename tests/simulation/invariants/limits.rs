//! What a whole controller may do in a second.

use std::collections::VecDeque;

use probe_policy::engine::{RuleKind, Stretched, Time};

use super::super::controller::{Around, Controller};
use super::Fleet;

/// So many writes are looked back on.
const LOOKED_BACK_ON: usize = 60;

impl Controller {
    /// In no stretch of time are more gates written than in so many seconds, and in one more.
    pub(super) fn check_writes(&self, written: &mut VecDeque<Time>, gates: usize, around: &Around<'_>) {
        let Some(limit) = around.cluster.limits.writes else { return };
        written.extend(std::iter::repeat_n(around.now, gates));
        written.drain(..written.len().saturating_sub(LOOKED_BACK_ON));
        for (count, first) in (1..).zip(written.iter().rev()) {
            let span = around.now.since(*first).as_nanos() as f64 / 1e9;
            let most = f64::from(limit.get()) * (span + 1.0) + 1.0;
            assert!(f64::from(count) <= most, "[writes] {count} gates in {span} s, and {most} may be written");
        }
    }
}

impl Fleet<'_> {
    /// Periods are stretched as soon as what the rules ask for is more than may be asked, and by enough. A tenth is left
    /// to quick re-checks.
    pub(super) fn check_stretch(&self, around: &mut Around<'_>) {
        let Some(ceiling) = around.cluster.limits.attempts else { return };
        let most = f64::from(ceiling.get() - ceiling.get() / 10);
        let wanted = self.wanted();
        match self.report.stretched {
            None => assert!(wanted <= most + 0.1, "[ceiling] {wanted} attempts a second, and {most} may be made"),
            Some(Stretched { wanted: reported, stretch, .. }) => {
                let is_so = wanted - 0.1 <= reported as f64 && reported as f64 <= wanted + 1.1;
                assert!(is_so, "[ceiling] {reported} attempts a second are wanted, and in truth {wanted}");
                let factor = stretch.factor();
                assert!(wanted <= most * factor + 0.1, "[ceiling] stretched by {factor} where {wanted} are wanted");
                around.coverage.stretched += 1;
            }
        }
    }

    /// The attempts a second that all rules come to which may ask now.
    fn wanted(&self) -> f64 {
        let mut wanted = 0.0;
        for member in &self.members {
            let may_ask = member.naive.may_ask(self.spec, member.pod, self.now);
            for kind in RuleKind::ALL {
                let Some(rule) = self.spec.rule(kind).filter(|_| may_ask[kind]) else { continue };
                let has_passed = member.naive.judgement(kind).has_passed;
                let period = rule.startup_period.filter(|_| !has_passed).unwrap_or(rule.period);
                wanted += 1e9 / period.as_nanos() as f64;
            }
        }
        wanted
    }
}
