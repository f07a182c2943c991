//! The restarts of a fleet: replica rules propose, this disposes. The only place that orders a restart.

use super::super::seat::{Order, Seat, StageOfLife};
use super::super::{
    Effect, EffectResult, IntentId, IntentStage, Mode, Obstacle, Policy, Reason, Refusal, ReplicaKey, RuleKind,
    SeatKey, Time, TransitionKind,
};
use super::{Fleet, Look};

/// What came of the restarts that were written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orders {
    /// All were ordered.
    Given,
    /// At least one is off, which may leave its seat or the breaker's trial with nothing to wait for.
    CalledOff,
}

impl Fleet {
    /// The intent was written, or not. What follows is decided over all that is known by then.
    pub(in super::super) fn intent_written(&mut self, intent: IntentId, seat: Option<SeatKey>, result: EffectResult) {
        let seat = self.restarting(intent.replica, seat, IntentStage::Recorded);
        let is_meant = |seat: &&mut Seat| seat.order().is_some_and(|order| order.container == intent.incarnation);
        if let Some(seat) = seat.filter(is_meant) {
            seat.written = Some(result);
        }
    }

    /// The restart was carried out, or not; returns what it was decided for if it may have been.
    pub(in super::super) fn restarted(
        &mut self,
        replica: ReplicaKey,
        seat: Option<SeatKey>,
        result: EffectResult,
        now: Time,
    ) -> Option<Order> {
        let seat = self.restarting(replica, seat, IntentStage::Ordered)?;
        let order = seat.order()?;
        match result {
            EffectResult::Applied => {
                seat.carry_out(now);
            }
            EffectResult::Unknown => seat.doubt(now),
            EffectResult::Refused(refusal) => {
                seat.refuse(refusal, now);
                return None;
            }
        }
        self.restarts.count(order, self.spec.as_ref().and_then(|spec| spec.restart.budget), now);
        Some(order)
    }

    /// Orders what was written down: only an acknowledged intent is carried out, and only while it is still wanted.
    pub(super) fn order(&mut self, spec: &Policy, look: &mut Look<'_, '_>) -> Orders {
        let Self { seats, wanting, breakers, .. } = self;
        let mut orders = Orders::Given;
        for (key, seat) in seats.opened_mut() {
            let Some(result) = seat.written.take() else { continue };
            let Some((intent, order)) = seat.memory.intent.zip(seat.order()) else { continue };
            let replica = intent.replica.and_then(|replica| look.replica(replica));
            let wanted = replica.filter(|replica| {
                spec.mode == Mode::Enforce
                    && breakers.let_go_on(replica, key)
                    && wanting.get(&replica.key.index).is_some_and(|(_, rule)| *rule == intent.rule)
                    && replica.is_led_by(order.container)
            });
            if let (EffectResult::Applied, Some(replica)) = (result, wanted) {
                seat.send();
                let replica = replica.key;
                look.recorder.push(Effect::Restart {
                    policy: look.key,
                    replica,
                    rule: intent.rule,
                    incarnation: order.container,
                    method: spec.restart.method,
                    grace_period: spec.restart.grace_period,
                });
                continue;
            }
            orders = Orders::CalledOff;
            match result {
                EffectResult::Applied => seat.drop_intent(),
                EffectResult::Refused(refusal) => seat.refuse(refusal, look.now),
                EffectResult::Unknown => seat.refuse(Refusal::Failed, look.now),
            }
        }
        orders
    }

    /// Decides the restarts that are asked for, the longest wanted first.
    pub(super) fn decide(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        if self.wanting.is_empty() {
            return;
        }
        let mut waiting: Vec<_> = self.wanting.iter().map(|(index, (since, rule))| (*since, *index, *rule)).collect();
        waiting.sort_unstable();
        let mut in_flight = self.seats_decided_on().opened().filter(|(_, seat)| seat.memory.intent.is_some()).count();
        for (_, index, rule) in waiting {
            in_flight = self.decide_one(spec, index, rule, in_flight, look);
        }
    }

    /// The seat whose restart of that replica has come so far: its own, if it has not been given another since.
    fn restarting(&mut self, replica: ReplicaKey, own: Option<SeatKey>, stage: IntentStage) -> Option<&mut Seat> {
        let is_meant = |seat: &Seat| {
            seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica) && intent.stage == stage)
        };
        let own = own.filter(|key| self.seats.get(*key).is_some_and(is_meant));
        let any = || self.seats.opened().find(|(_, seat)| is_meant(seat)).map(|(key, _)| key);
        let key = own.or_else(any)?;
        self.seats.open_known(key)
    }

    /// Takes and returns how many seats are in a restart.
    fn decide_one(
        &mut self,
        spec: &Policy,
        index: u32,
        rule: RuleKind,
        in_flight: usize,
        look: &mut Look<'_, '_>,
    ) -> usize {
        let Some(Some(replica)) = look.replicas.get(index as usize) else { return in_flight };
        if replica.foreseen.as_ref().is_some_and(|foreseen| foreseen.is_restarted) {
            return in_flight;
        }
        let seat = replica.seat().and_then(|seat| self.seats_decided_on().get(seat));
        let is_in_flight = seat.is_some_and(|seat| seat.memory.intent.is_some());
        if is_in_flight && !seat.is_some_and(Seat::is_futile) {
            return in_flight;
        }
        let others = in_flight - usize::from(is_in_flight);
        let obstacle = self.obstacle(spec, replica, rule, others, look);
        let Some(Some(replica)) = look.replicas.get_mut(index as usize) else { return in_flight };
        if let Some(obstacle) = obstacle {
            let news = replica.obstacle.map(Obstacle::name) != Some(obstacle.name());
            replica.obstacle = Some(obstacle);
            if news {
                let (key, reason) = (replica.key, Reason::Held { rule, by: obstacle });
                look.recorder.record(Some(look.key), key, look.now, self.held(obstacle), reason);
                look.again(index);
            }
            return in_flight;
        }
        let container = replica.lead().map(|lead| lead.incarnation);
        let (Some(seat_key), Some(container), Some(judge), Some(asked)) =
            (self.seat_of(replica), container, &replica.judges[rule], spec.rule(rule))
        else {
            return in_flight;
        };
        let reason = judge.failed(rule, asked);
        let stage_of_life = if replica.is_started() { StageOfLife::Started } else { StageOfLife::Starting };
        let order = Order { container, reason, stage_of_life };
        self.breakers.decided(replica, seat_key);
        replica.obstacle = None;
        if self.foresight.is_some() {
            self.foresee_restart(spec, seat_key, order, rule, index, look);
            return others + 1;
        }
        self.seats.open(seat_key).decide(replica.key, rule, order, look.now);
        look.recorder.record(Some(look.key), replica.key, look.now, TransitionKind::RestartDecided, reason);
        let intent = IntentId { policy: look.key, replica: replica.key, incarnation: container };
        look.recorder.push(Effect::RecordIntent { intent, seat: seat_key, rule });
        others + 1
    }
}
