//! When a gate may be turned: not before it has stayed long enough, and under an edit that rolls only in its turn.

use std::collections::BTreeMap;

use probe_policy::engine::{
    DwellSettings, Gate, GateSeen, Incarnation, Lifecycle, OnPolicyChange, Reason, ReplicaKey, Time, Transition,
    WhenBelow,
};

use super::{Fleet, History, Member, amount};

/// How a gate was turned last.
#[derive(Clone, Copy)]
pub(super) struct Turned {
    container: Incarnation,
    gate: Gate,
    at: Time,
    /// By what the readiness rule heard, under these settings.
    dwell: Option<DwellSettings>,
}

impl Fleet<'_> {
    /// Notes which gates were turned since.
    pub(super) fn turns(&self, history: &History) -> BTreeMap<ReplicaKey, Turned> {
        let mut turns = BTreeMap::new();
        for member in &self.members {
            let Some((gate, reason)) = member.report.gate else { continue };
            let (key, container) = (member.pod.key, member.pod.incarnation);
            let before = history.turns.get(&key).filter(|turned| turned.container == container);
            let turned = match before {
                Some(turned) if turned.gate == gate => *turned,
                _ => {
                    let dwell = self.spec.dwell.filter(|_| before.is_some() && was_heard(reason));
                    Turned { container, gate, at: self.now, dwell }
                }
            };
            turns.insert(key, turned);
        }
        turns
    }

    /// What readiness hears does not turn a gate before it has stayed where it was turned so.
    pub(super) fn check_dwell(&self, transition: &Transition, history: &History) {
        let Some(member) = self.member(transition.replica).filter(|_| was_heard(transition.reason)) else { return };
        let turned = history.turns.get(&member.pod.key).filter(|turned| turned.container == member.pod.incarnation);
        let Some((turned, dwell)) = turned.and_then(|turned| Some((turned, turned.dwell?))) else { return };
        // Below the floor it is let in at once, and if that is enough the pool was not below it at all.
        if self.spec.floor.is_some() || self.spec.dwell != Some(dwell) {
            return;
        }
        let stays = match turned.gate {
            Gate::Open => dwell.least,
            Gate::Closed => dwell.least.max(dwell.ejection.initial.min(dwell.ejection.max)),
        };
        let stayed = self.now.since(turned.at);
        assert!(stayed >= stays, "[dwell] {:?} is turned after {stayed}, and was to stay {stays}", turned.gate);
    }

    /// Whoever awaited its turn leaves beside no more than may restart, and leaves the pool its floor.
    pub(super) fn check_turn(&self, transition: &Transition, history: &History) {
        let Some((_, Some((_, Reason::AwaitsTurn { .. })))) = history.gates.get(&transition.replica) else { return };
        let is_turn = matches!(transition.reason, Reason::Preparing { .. });
        if !is_turn || self.spec.on_policy_change != OnPolicyChange::Rolling {
            return;
        }
        let (out, allowed) = (self.report.preparing, amount(self.spec.restart.max_concurrent, self.desired).max(1));
        assert!(out <= allowed, "[turn] {out} are out for what an edit asks, and {allowed} may be");
        let Some(floor) = self.spec.floor.filter(|floor| floor.when_below != WhenBelow::Close) else { return };
        let in_pool = self.members.iter().filter(|member| member.is_in()).count() as u32;
        let least = amount(floor.min_ready, self.desired);
        assert!(in_pool >= least, "[turn] it leaves {in_pool} in the pool, and {least} must be");
    }
}

impl Member<'_> {
    fn is_in(&self) -> bool {
        let is_open = matches!(self.report.gate, Some((Gate::Open, _)));
        self.pod.lifecycle == Lifecycle::Live && (is_open || self.pod.gate == GateSeen::Ungated)
    }
}

fn was_heard(reason: Reason) -> bool {
    matches!(reason, Reason::Passed { .. } | Reason::Failed { .. } | Reason::FailedOften { .. })
}
