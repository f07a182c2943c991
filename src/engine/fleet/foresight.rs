//! What an observed policy would do to its fleet: decided by the same code, on seats of its own, and told instead of
//! carried out.

use super::super::record::Recorder;
use super::super::replica::Replica;
use super::super::seat::{Order, StageOfLife};
use super::super::{
    Gate, Mode, Obstacle, Policy, PolicyKey, Reason, RestartSettings, RuleKind, SeatKey, Time, TransitionKind,
    WouldHave, gate,
};
use super::seats::{Memory, Seats};
use super::{Budget, Fleet, Look};

/// What an observed policy would have done, and what that would have left behind.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Foresight {
    /// The seats, with the restarts that were not carried out.
    pub(super) seats: Seats,
    /// What they would have spent.
    pub(super) budget: Budget,
    pub(in super::super) would_have: WouldHave,
}

impl Fleet {
    /// Begins to foresee, or ends, as a newer spec says. What is counted is counted for one generation.
    pub(super) fn foresee_under(&mut self, spec: &Policy) {
        let generation = self.spec.as_ref().map(|spec| spec.generation);
        match (spec.mode, &mut self.foresight) {
            (Mode::Observe, Some(foresight)) => {
                foresight.seats.open_all();
                if generation != Some(spec.generation) {
                    foresight.would_have = WouldHave::default();
                }
            }
            (Mode::Observe, None) => self.foresight = Some(Box::default()),
            (Mode::Enforce | Mode::Paused, _) => self.foresight = None,
        }
    }

    /// The seats that decisions are taken on.
    pub(super) fn seats_decided_on(&self) -> &Seats {
        self.foresight.as_ref().map_or(&self.seats, |foresight| &foresight.seats)
    }

    /// The budget that decisions are taken on: what would be spent of it, and at least what is.
    pub(super) fn budget_decided_on(&self) -> Budget {
        let spent = self.restarts.budget;
        self.foresight.as_ref().map_or(spent, |foresight| spent.max(foresight.budget))
    }

    /// Notes where the gate of a replica would stand.
    pub(in super::super) fn foresee_gate(
        &mut self,
        key: PolicyKey,
        replica: &mut Replica,
        now: Time,
        recorder: &mut Recorder<'_>,
    ) {
        let Some(spec) = &self.spec else { return };
        let decided = gate::foreseen(replica, self, spec, now);
        if let Some(foreseen) = &mut replica.foreseen {
            foreseen.stance.dwell(spec.dwell.as_ref(), decided, now);
        }
        let Some((gate, reason)) = decided else { return };
        let (shared, failures) = (self.is_shared(RuleKind::Readiness), replica.readiness_failures());
        let (Some(foreseen), Some(Foresight { would_have, .. })) =
            (&mut replica.foreseen, self.foresight.as_deref_mut())
        else {
            return;
        };
        let why = foreseen.stance.held().map(|(_, reason)| reason.name());
        let moves = foreseen.stance.take(gate, reason, failures);
        let passes = replica.judges.readiness.as_ref().is_none_or(|judge| judge.passes());
        let was_inherited = foreseen.is_inherited;
        foreseen.is_inherited = was_inherited && !passes;
        let mut tell = |kind| recorder.record(Some(key), replica.key, now, kind, reason);
        match gate {
            Gate::Open if moves => {
                would_have.admitted += 1;
                tell(TransitionKind::WouldHaveAdmitted);
            }
            Gate::Closed if moves && !was_inherited => {
                would_have.ejected += 1;
                would_have.in_shared_failure += u32::from(shared && matches!(reason, Reason::Failed { .. }));
                tell(TransitionKind::WouldHaveEjected);
            }
            Gate::Open | Gate::Closed => {}
        }
        if let Reason::Held { by, .. } | Reason::HeldWithoutBeat { by } = reason
            && why != Some(reason.name())
            && !was_inherited
            && !matches!(by, Obstacle::DependencyAsked { .. })
        {
            would_have.hold(by);
            tell(TransitionKind::WouldHaveHeld);
        }
    }

    /// Notes a restart that is not carried out. Until its failure is over it has its place among the others as if it were.
    pub(super) fn foresee_restart(
        &mut self,
        spec: &Policy,
        seat: SeatKey,
        order: Order,
        rule: RuleKind,
        index: u32,
        look: &mut Look<'_, '_>,
    ) {
        let shared = self.is_shared(rule);
        let budget = self.budget_decided_on();
        let Some(foresight) = &mut self.foresight else { return };
        let Some(Some(replica)) = look.replicas.get_mut(index as usize) else { return };
        let Some(foreseen) = &mut replica.foreseen else { return };
        foreseen.is_restarted = true;
        let seat = foresight.seats.open(seat);
        seat.decide(replica.key, rule, order, look.now);
        seat.carry_out(look.now);
        foresight.budget = budget;
        foresight.budget.spend(spec.restart.budget, look.now);
        let counts = &mut foresight.would_have;
        counts.restarted += 1;
        counts.in_startup += u32::from(order.stage_of_life == StageOfLife::Starting);
        counts.in_shared_failure += u32::from(shared);
        look.recorder.record(Some(look.key), replica.key, look.now, TransitionKind::WouldHaveRestarted, order.reason);
    }

    /// How a restart is told that something stands in the way of.
    pub(super) fn held(&mut self, by: Obstacle) -> TransitionKind {
        match &mut self.foresight {
            Some(foresight) => {
                foresight.would_have.hold(by);
                TransitionKind::WouldHaveHeld
            }
            None => TransitionKind::RestartRefused,
        }
    }

    /// At least two judged replicas, and more than half of them, failed their latest attempt at the rule.
    fn is_shared(&self, rule: RuleKind) -> bool {
        match rule {
            RuleKind::Startup => false,
            RuleKind::Liveness => self.standings.liveness.are_most_failing(),
            RuleKind::Readiness => self.standings.readiness.are_most_failing(),
        }
    }
}

impl Foresight {
    /// Ends the restarts whose failure is over, or that would be overdue.
    pub(super) fn supervise(&mut self, settings: &RestartSettings, look: &Look<'_, '_>) {
        self.seats.close(look.now, settings, |_, seat| {
            let replica = seat.memory.intent.and_then(|intent| look.replica(intent.replica?));
            let lasts = replica.and_then(|replica| replica.foreseen.as_ref()).is_some_and(|it| it.is_restarted);
            if !lasts || seat.deadline(settings).is_some_and(|deadline| deadline <= look.now) {
                seat.drop_intent();
            }
            match seat.resets(settings) {
                Some(at) if at <= look.now => Memory::Forgotten,
                Some(_) | None => Memory::Kept,
            }
        });
    }
}
