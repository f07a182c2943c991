//! The restarts of a fleet: replica rules propose, this disposes. The only place that orders a restart.

use super::super::record::Recorder;
use super::super::replica::Replica;
use super::super::seat::{Order, Seat, StageOfLife};
use super::super::{
    Effect, EffectResult, IntentStage, Obstacle, Policy, PolicyKey, Reason, Refusal, ReplicaKey, RuleKind, SeatMemory,
    Time, TransitionKind,
};
use super::{Fleet, Look};

impl Fleet {
    /// The intent was written, or not. What follows is decided over all that is known by then.
    pub(in super::super) fn intent_written(&mut self, replica: ReplicaKey, result: EffectResult) {
        let recorded = |seat: &&mut Seat| is_at(seat, replica, IntentStage::Recorded);
        if let Some(seat) = self.seats.values_mut().find(recorded) {
            seat.written = Some(result);
        }
    }

    /// The restart was carried out, or not.
    pub(in super::super) fn restarted(
        &mut self,
        key: PolicyKey,
        replica: ReplicaKey,
        result: EffectResult,
        now: Time,
        recorder: &mut Recorder<'_>,
    ) {
        let ordered = |seat: &&mut Seat| is_at(seat, replica, IntentStage::Ordered);
        let Some(seat) = self.seats.values_mut().find(ordered) else { return };
        let Some(order) = seat.order() else { return };
        match result {
            EffectResult::Applied => seat.carry_out(now),
            EffectResult::Unknown => seat.doubt(now),
            EffectResult::Refused(refusal) => {
                seat.refuse(refusal, now);
                return;
            }
        }
        self.restarts.count(order);
        recorder.record(Some(key), replica, now, TransitionKind::Restarted, order.reason);
    }

    /// Orders what was written down: only an acknowledged intent is carried out, and only while it is still wanted.
    pub(super) fn order(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        for seat in self.seats.values_mut() {
            let Some(result) = seat.written.take() else { continue };
            let Some((intent, order)) = seat.memory.intent.zip(seat.order()) else { continue };
            let replica = intent.replica.and_then(|replica| look.replica(replica));
            let wanted = replica.filter(|replica| {
                self.wanting.contains_key(&replica.key.index)
                    && order.container == replica.lead().map(|lead| lead.incarnation)
            });
            match (result, wanted, order.container) {
                (EffectResult::Applied, Some(replica), Some(incarnation)) => {
                    seat.send();
                    let replica = replica.key;
                    look.recorder.push(Effect::Restart {
                        policy: look.key,
                        replica,
                        rule: intent.rule,
                        incarnation,
                        method: spec.restart.method,
                        grace_period: spec.restart.grace_period,
                    });
                }
                (EffectResult::Applied, _, _) => seat.drop_intent(),
                (EffectResult::Refused(refusal), _, _) => seat.refuse(refusal, look.now),
                (EffectResult::Unknown, _, _) => seat.refuse(Refusal::Failed, look.now),
            }
        }
    }

    /// Follows the restarts in flight to their end, tells loops, and forgets seats that have been quiet for long.
    pub(super) fn supervise(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        let (key, now, settings) = (look.key, look.now, &spec.restart);
        let Self { seats, restarts, .. } = self;
        seats.retain(|_, seat| {
            let occupant = seat.memory.occupant.and_then(|key| look.replica(key));
            let untouched = occupant.is_some_and(|replica| is_untouched(seat, replica));
            let judged_well = occupant.is_some_and(Replica::is_judged_well);
            let told = seat.memory.occupant.or(seat.memory.intent.and_then(|intent| intent.replica));
            let mut tell = |kind, reason| {
                if let Some(replica) = told {
                    look.recorder.record(Some(key), replica, now, kind, reason);
                }
            };
            if let Some(intent) = seat.memory.intent {
                let from_before = seat.order().is_none();
                let vanished = intent.stage != IntentStage::CarriedOut && from_before;
                if vanished && untouched {
                    seat.drop_intent();
                } else if vanished {
                    seat.carry_out(intent.at);
                }
            }
            match seat.doubted_until() {
                Some(until) if until <= now && untouched => {
                    restarts.uncount(seat.order());
                    seat.disprove();
                }
                Some(until) if until <= now => seat.believe(),
                Some(_) | None => {}
            }
            if let Some(intent) = seat.memory.intent.filter(|intent| intent.stage == IntentStage::CarriedOut) {
                if judged_well && !untouched {
                    seat.drop_intent();
                    tell(TransitionKind::Returned, Reason::Returned { after: now.since(intent.at) });
                } else if seat.deadline(settings).is_some_and(|deadline| deadline <= now) {
                    seat.drop_intent();
                    restarts.futile = restarts.futile.saturating_add(1);
                    tell(TransitionKind::DidNotReturn, Reason::DidNotReturn { deadline: settings.deadline });
                }
            }
            let SeatMemory { restarts, foreign, .. } = seat.memory;
            if seat.loops(settings) && !seat.in_loop {
                seat.in_loop = true;
                tell(TransitionKind::LoopBegan, Reason::Loop { restarts, foreign, rule: seat.last_rule });
            }
            let forgotten = seat.resets(settings).is_some_and(|at| at <= now);
            if forgotten && seat.in_loop {
                tell(TransitionKind::LoopEnded, Reason::Quiet { span: settings.backoff.reset_after });
            }
            !forgotten
        });
    }

    /// Decides the restarts that are asked for, the longest wanted first.
    pub(super) fn decide(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        if self.wanting.is_empty() {
            return;
        }
        let mut waiting: Vec<_> = self.wanting.iter().map(|(index, (since, rule))| (*since, *index, *rule)).collect();
        waiting.sort_unstable();
        let mut in_flight = self.seats.values().filter(|seat| seat.memory.intent.is_some()).count();
        for (_, index, rule) in waiting {
            in_flight = self.decide_one(spec, index, rule, in_flight, look);
        }
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
        let seat = replica.seat().and_then(|seat| self.seats.get(&seat));
        let is_in_flight = seat.is_some_and(|seat| seat.memory.intent.is_some());
        if is_in_flight && !seat.is_some_and(|seat| is_futile(seat, replica)) {
            return in_flight;
        }
        let others = in_flight - usize::from(is_in_flight);
        let obstacle = self.obstacle(spec, replica, rule, others, look);
        let Some(Some(replica)) = look.replicas.get_mut(index as usize) else { return in_flight };
        if let Some(obstacle) = obstacle {
            let news = replica.obstacle.map(Obstacle::name) != Some(obstacle.name());
            replica.obstacle = Some(obstacle);
            if news {
                let reason = Reason::Held { rule, by: obstacle };
                look.recorder.record(Some(look.key), replica.key, look.now, TransitionKind::RestartRefused, reason);
            }
            return in_flight;
        }
        let (Some(seat_key), Some(judge), Some(asked)) =
            (self.seat_of(replica), &replica.judges[rule], spec.rule(rule))
        else {
            return in_flight;
        };
        let reason = judge.failed(rule, asked);
        let stage_of_life = if replica.is_started() { StageOfLife::Started } else { StageOfLife::Starting };
        let order = Order { container: replica.lead().map(|lead| lead.incarnation), reason, stage_of_life };
        self.restarts.futile = self.restarts.futile.saturating_add(u32::from(is_in_flight));
        self.seats.entry(seat_key).or_default().decide(replica.key, rule, order, look.now);
        replica.obstacle = None;
        look.recorder.record(Some(look.key), replica.key, look.now, TransitionKind::RestartDecided, reason);
        look.recorder.push(Effect::RecordIntent { policy: look.key, replica: replica.key, seat: seat_key, rule });
        others + 1
    }
}

fn is_at(seat: &Seat, replica: ReplicaKey, stage: IntentStage) -> bool {
    seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica) && intent.stage == stage)
}

/// The seat's last restart was carried out, and what came of it is to be restarted again.
fn is_futile(seat: &Seat, replica: &Replica) -> bool {
    seat.memory.intent.is_some_and(|intent| intent.stage == IntentStage::CarriedOut) && !is_untouched(seat, replica)
}

/// The replica is the very one, with the very container, that the seat's restart was decided for.
fn is_untouched(seat: &Seat, replica: &Replica) -> bool {
    let same = seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica.key));
    let container = seat.order().is_none_or(|order| order.container == replica.lead().map(|lead| lead.incarnation));
    same && container && replica.is_live()
}
