//! What outlives a replica: the restarts of its seat, its backoff, its loop, its restart in flight.

use super::{
    Backoff, EffectResult, Incarnation, Intent, IntentStage, Obstacle, Reason, Refusal, ReplicaKey, RestartSettings,
    RuleKind, SeatMemory, Span, Time,
};

/// How long an order whose answer was lost counts as carried out although nothing shows it.
const DISPROVED_AFTER: Span = Span::from_secs(10);

/// A seat that remembers something.
#[derive(Clone, Debug, Default)]
pub(super) struct Seat {
    pub(super) memory: SeatMemory,
    /// Whether its loop has been told.
    pub(super) in_loop: bool,
    /// The answer to writing the intent down, until it is acted on.
    pub(super) written: Option<EffectResult>,
    /// The restart in flight, as far as only this engine needs to know it.
    order: Option<Order>,
    /// A rule wants what the restart in flight made restarted again.
    is_futile: bool,
    /// The answer to the order was lost.
    doubt: Option<Time>,
    refusals: u32,
    refused: Option<(Refusal, Time)>,
}

/// What a restart was decided for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) container: Incarnation,
    pub(super) reason: Reason,
    pub(super) stage_of_life: StageOfLife,
}

/// Whether a restart hit a replica that had finished starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageOfLife {
    Starting,
    Started,
}

impl Seat {
    /// A seat as an earlier engine left it. An intent whose replica is still there untouched was never carried out;
    /// the caller says so with [`Seat::drop_intent`].
    pub(super) fn restored(memory: SeatMemory) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Starts a restart.
    pub(super) fn decide(&mut self, replica: ReplicaKey, rule: RuleKind, order: Order, now: Time) {
        let stage = IntentStage::Recorded;
        self.memory.occupant = Some(replica);
        self.memory.intent = Some(Intent { replica: Some(replica), rule, at: now, stage });
        self.order = Some(order);
        (self.is_futile, self.doubt, self.refused) = (false, None, None);
    }

    /// What the restart in flight was decided for; `None` for one from before this engine.
    pub(super) fn order(&self) -> Option<Order> {
        self.order
    }

    /// Somebody was asked to carry it out.
    pub(super) fn send(&mut self) {
        if let Some(intent) = &mut self.memory.intent {
            intent.stage = IntentStage::Ordered;
        }
    }

    /// It was carried out; from now on it counts. Says whether it did not before.
    pub(super) fn carry_out(&mut self, now: Time) -> bool {
        let Some(intent) = self.memory.intent.as_mut().filter(|intent| intent.stage != IntentStage::CarriedOut) else {
            return false;
        };
        intent.stage = IntentStage::CarriedOut;
        self.memory.last_rule = Some(intent.rule);
        self.memory.restarts = self.memory.restarts.saturating_add(1);
        if let Some(order) = self.order {
            self.memory.count_stage(order.stage_of_life);
        }
        self.memory.last = Some(now);
        self.refusals = 0;
        true
    }

    /// Whether it was carried out is not known: taken as done, until the replica is seen untouched for a while.
    pub(super) fn doubt(&mut self, now: Time) {
        self.carry_out(now);
        self.doubt = Some(now + DISPROVED_AFTER);
    }

    /// When a lost answer is disproved by a replica that is still untouched.
    pub(super) fn doubted_until(&self) -> Option<Time> {
        self.doubt
    }

    /// The restart in flight has not helped: a rule wants what it made restarted again, or it did not come back in time.
    pub(super) fn fail(&mut self) {
        if !std::mem::replace(&mut self.is_futile, true) {
            self.memory.futile = self.memory.futile.saturating_add(1);
        }
    }

    /// Whether the restart in flight has failed.
    pub(super) fn is_futile(&self) -> bool {
        self.is_futile
    }

    /// The lost answer was a yes.
    pub(super) fn believe(&mut self) {
        self.doubt = None;
    }

    /// The lost answer was a no.
    pub(super) fn disprove(&mut self) {
        self.memory.restarts = self.memory.restarts.saturating_sub(1);
        self.drop_intent();
    }

    /// The restart was refused, and may be tried again after a while.
    pub(super) fn refuse(&mut self, refusal: Refusal, now: Time) {
        self.drop_intent();
        self.refused = Some((refusal, now + Refusal::retry_after(self.refusals)));
        self.refusals = self.refusals.saturating_add(1);
    }

    /// The restart is over, one way or another.
    pub(super) fn drop_intent(&mut self) {
        (self.memory.intent, self.written, self.order, self.doubt, self.is_futile) = (None, None, None, None, false);
    }

    /// Somebody else restarted it.
    pub(super) fn count_foreign(&mut self, stage: StageOfLife, now: Time) {
        self.memory.count_stage(stage);
        self.memory.foreign = self.memory.foreign.saturating_add(1);
        self.memory.last = Some(now);
    }

    /// The restart in flight, if it was carried out or may have been.
    pub(super) fn is_open(&self) -> bool {
        self.memory.intent.is_some_and(|intent| intent.stage != IntentStage::Recorded)
    }

    /// Until when the seat's next restart waits, and why.
    pub(super) fn waits(&self, backoff: Backoff, now: Time) -> Option<(Time, Obstacle)> {
        let refused = self.refused.map(|(refusal, until)| (until, Obstacle::Refused(refusal)));
        let wait = backoff.wait_after(self.memory.restarts);
        let backoff = self.memory.last.map(|last| (last + wait, Obstacle::Backoff { wait }));
        refused.into_iter().chain(backoff).find(|(until, _)| *until > now)
    }

    /// When its count begins anew, if nothing happens before. One that was given up remembers that.
    pub(super) fn resets(&self, settings: &RestartSettings) -> Option<Time> {
        let is_kept = self.memory.intent.is_some() || (self.gave_up(settings) && self.memory.occupant.is_some());
        self.memory.last.filter(|_| !is_kept).map(|last| last + settings.backoff.reset_after)
    }

    /// When a restart that was carried out counts as futile.
    pub(super) fn deadline(&self, settings: &RestartSettings) -> Option<Time> {
        let intent = self.memory.intent.filter(|intent| intent.stage == IntentStage::CarriedOut)?;
        Some(intent.at + settings.deadline)
    }

    /// So many restarts in a row have not helped that there are no more.
    pub(super) fn gave_up(&self, settings: &RestartSettings) -> bool {
        settings.give_up_after.is_some_and(|limit| self.memory.futile >= limit.get())
    }

    /// Restarts of either kind make a loop.
    pub(super) fn loops(&self, settings: &RestartSettings) -> bool {
        self.memory.restarts.saturating_add(self.memory.foreign) >= settings.loop_after.get()
    }
}

impl SeatMemory {
    fn count_stage(&mut self, stage: StageOfLife) {
        self.cut_short = match stage {
            StageOfLife::Starting => self.cut_short.saturating_add(1),
            StageOfLife::Started => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLICA: ReplicaKey = ReplicaKey { index: 0, generation: 0 };
    const ORDER: Order =
        Order { container: Incarnation(1), reason: Reason::NotJudged, stage_of_life: StageOfLife::Started };

    #[test]
    fn a_restart_counts_once_however_often_it_is_acknowledged() {
        let mut seat = Seat::default();
        seat.decide(REPLICA, RuleKind::Liveness, ORDER, Time::ZERO);
        seat.send();
        seat.doubt(Time::from_nanos(5));
        seat.carry_out(Time::from_nanos(9));
        assert_eq!((seat.memory.restarts, seat.memory.last), (1, Some(Time::from_nanos(5))));
    }

    #[test]
    fn a_lost_answer_that_turns_out_a_no_leaves_no_restart_behind() {
        let mut seat = Seat::default();
        seat.decide(REPLICA, RuleKind::Liveness, ORDER, Time::ZERO);
        seat.doubt(Time::ZERO);
        seat.disprove();
        assert_eq!((seat.memory.restarts, seat.memory.intent), (0, None));
    }
}
