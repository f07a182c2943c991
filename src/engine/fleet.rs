//! The replicas that one policy keeps, and the restarts among them: replica rules propose, this disposes. The only
//! place that orders a restart.

use std::collections::{BTreeMap, BTreeSet};

use super::record::Recorder;
use super::replica::Replica;
use super::seat::{Order, Seat, StageOfLife};
use super::{
    Effect, EffectResult, IntentStage, Lifecycle, NodeKey, NodeState, Obstacle, OtherOwners, Owner, OwnerKey,
    OwnerKind, PerRule, Place, Policy, PolicyKey, Readiness, Reason, Refusal, ReplicaKey, RuleKind, SeatKey,
    SeatMemory, Slot, Span, Time, TransitionKind,
};

/// One policy and what it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet {
    /// The last valid spec.
    pub(super) spec: Option<Policy>,
    /// The rules that somebody has passed under their present question.
    pub(super) ever_passed: PerRule<bool>,
    /// The replicas, by index.
    pub(super) members: BTreeSet<u32>,
    /// The seats that remember something.
    pub(super) seats: BTreeMap<SeatKey, Seat>,
    pub(super) restarts: Restarts,
    /// The replicas whose rules ask for a restart: since when, and which rule.
    wanting: BTreeMap<u32, (Time, RuleKind)>,
    next_nth: u32,
}

/// Restarts carried out since the engine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Restarts {
    pub(super) total: u32,
    pub(super) in_startup: u32,
    pub(super) futile: u32,
}

/// What surrounds the fleets.
pub(super) struct Surroundings<'a> {
    pub(super) replicas: &'a mut [Option<Replica>],
    pub(super) owners: &'a BTreeMap<OwnerKey, Owner>,
    pub(super) nodes: &'a BTreeMap<NodeKey, NodeState>,
}

impl Fleet {
    /// Takes a newer spec. A rule that asks something else has been passed by nobody yet.
    pub(super) fn set(&mut self, spec: Policy) {
        for kind in RuleKind::ALL {
            let asked = |policy: &Policy| policy.rule(kind).map(|rule| rule.question);
            self.ever_passed[kind] &= self.spec.as_ref().is_none_or(|old| asked(old) == asked(&spec));
        }
        self.spec = Some(spec);
    }

    /// Takes a seat over from an earlier engine.
    pub(super) fn restore(&mut self, key: SeatKey, memory: SeatMemory) {
        if let Slot::Nth(n) = key.slot {
            self.next_nth = self.next_nth.max(n.saturating_add(1));
        }
        let mut seat = Seat::restored(memory);
        if let Some(intent) = memory.intent.filter(|intent| intent.replica.is_none()) {
            seat.carry_out(intent.at);
        }
        self.seats.insert(key, seat);
    }

    /// Gives a replica that was not known before its seat.
    pub(super) fn seat(&mut self, replica: &mut Replica) {
        let key = match replica.seen.place {
            Place::Fixed(_) => replica.seat(),
            Place::Any => self.seat_left_open(replica),
        };
        if let Some((key, seat)) = key.and_then(|key| Some((key, self.seats.get_mut(&key)?))) {
            seat.memory.occupant = Some(replica.key);
            if replica.seen.place == Place::Any {
                replica.assigned = Some(key);
            }
        }
    }

    /// Notes what a replica's rules ask for now.
    pub(super) fn note(&mut self, replica: &mut Replica, now: Time) {
        let index = replica.key.index;
        match self.spec.as_ref().and_then(|spec| replica.wants_restart(spec)) {
            Some(rule) => self.wanting.entry(index).or_insert((now, rule)).1 = rule,
            None => {
                self.wanting.remove(&index);
                replica.obstacle = None;
            }
        }
    }

    /// A replica is gone, or kept by another policy.
    pub(super) fn leave(&mut self, replica: ReplicaKey) {
        self.members.remove(&replica.index);
        self.wanting.remove(&replica.index);
        for seat in self.seats.values_mut().filter(|seat| seat.memory.occupant == Some(replica)) {
            seat.memory.occupant = None;
        }
    }

    /// A replica's container was replaced in place, by our order or by somebody else.
    pub(super) fn replaced(&mut self, replica: &mut Replica, now: Time) {
        let Some(key) = self.seat_of(replica) else { return };
        let seat = self.seats.entry(key).or_default();
        seat.memory.occupant = Some(replica.key);
        let ours = seat.is_open() && seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica.key));
        if ours {
            return;
        }
        if seat.memory.intent.is_some_and(|intent| intent.stage == IntentStage::Recorded) {
            seat.drop_intent();
        }
        seat.count_foreign(now);
    }

    /// The intent was written, or not. What follows is decided over all that is known by then.
    pub(super) fn intent_written(&mut self, replica: ReplicaKey, result: EffectResult) {
        if let Some(seat) = self.seats.values_mut().find(|seat| is_recorded(seat, replica)) {
            seat.written = Some(result);
        }
    }

    /// The restart was carried out, or not.
    pub(super) fn restarted(
        &mut self,
        key: PolicyKey,
        replica: ReplicaKey,
        result: EffectResult,
        now: Time,
        recorder: &mut Recorder<'_>,
    ) {
        let is_ordered = |seat: &&mut Seat| {
            let intent = seat.memory.intent;
            intent.is_some_and(|i| i.replica == Some(replica) && i.stage == IntentStage::Ordered)
        };
        let Some(seat) = self.seats.values_mut().find(is_ordered) else { return };
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

    /// Follows the restarts in flight, then decides new ones.
    pub(super) fn step(
        &mut self,
        key: PolicyKey,
        now: Time,
        around: &mut Surroundings<'_>,
        recorder: &mut Recorder<'_>,
    ) {
        let Some(spec) = self.spec.take() else { return };
        self.order(key, &spec, now, around, recorder);
        self.supervise(key, &spec, now, around, recorder);
        self.decide(key, &spec, now, around, recorder);
        self.spec = Some(spec);
    }

    /// When the fleet is to be looked at again though nothing happened to a replica, and what for.
    pub(super) fn next_wake(&self, now: Time, replicas: &[Option<Replica>]) -> Option<(Time, &'static str)> {
        let spec = self.spec.as_ref()?;
        let seats = self.seats.values().flat_map(|seat| {
            let doubt = seat.doubted_until().map(|at| (at, "lost answer of a restart"));
            let deadline = seat.deadline(&spec.restart).map(|at| (at, "deadline of a restart"));
            let reset = seat.resets(&spec.restart).map(|at| (at, "backoff forgotten"));
            [doubt, deadline, reset]
        });
        let waiting = self.wanting.keys().map(|index| {
            let replica = replicas.get(*index as usize)?.as_ref()?;
            let (until, _) = self.seats.get(&replica.seat()?)?.waits(spec.restart.backoff, now)?;
            Some((until, "restart may be tried"))
        });
        seats.chain(waiting).flatten().min()
    }

    /// The restarts that a replica's rules ask for.
    pub(super) fn wants(&self, replica: &Replica) -> Option<RuleKind> {
        self.wanting.get(&replica.key.index).map(|(_, rule)| *rule)
    }

    /// Orders what was written down: only an acknowledged intent is carried out, and only while it is still wanted.
    fn order(
        &mut self,
        key: PolicyKey,
        spec: &Policy,
        now: Time,
        around: &Surroundings<'_>,
        recorder: &mut Recorder<'_>,
    ) {
        for seat in self.seats.values_mut() {
            let Some(result) = seat.written.take() else { continue };
            let Some((intent, order)) = seat.memory.intent.zip(seat.order()) else { continue };
            let replica = intent.replica.and_then(|replica| around.replica(replica));
            let wanted = replica.filter(|replica| {
                self.wanting.contains_key(&replica.key.index)
                    && order.container == replica.lead().map(|lead| lead.incarnation)
            });
            match (result, wanted, order.container) {
                (EffectResult::Applied, Some(replica), Some(incarnation)) => {
                    seat.send();
                    recorder.push(Effect::Restart {
                        policy: key,
                        replica: replica.key,
                        rule: intent.rule,
                        incarnation,
                        method: spec.restart.method,
                        grace_period: spec.restart.grace_period,
                    });
                }
                (EffectResult::Applied, _, _) => seat.drop_intent(),
                (EffectResult::Refused(refusal), _, _) => seat.refuse(refusal, now),
                (EffectResult::Unknown, _, _) => seat.refuse(Refusal::Failed, now),
            }
        }
    }

    fn supervise(
        &mut self,
        key: PolicyKey,
        spec: &Policy,
        now: Time,
        around: &mut Surroundings<'_>,
        recorder: &mut Recorder<'_>,
    ) {
        let settings = &spec.restart;
        let Self { seats, restarts, .. } = self;
        seats.retain(|_, seat| {
            let occupant = seat.memory.occupant.and_then(|key| around.replica(key));
            let told = seat.memory.occupant.or(seat.memory.intent.and_then(|intent| intent.replica));
            let mut tell = |kind, reason| {
                if let Some(replica) = told {
                    recorder.record(Some(key), replica, now, kind, reason);
                }
            };
            let untouched = occupant.is_some_and(|replica| is_untouched(seat, replica));
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
                let returned = occupant.is_some_and(|replica| !is_untouched(seat, replica) && replica.is_judged_well());
                if returned {
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

    fn decide(
        &mut self,
        key: PolicyKey,
        spec: &Policy,
        now: Time,
        around: &mut Surroundings<'_>,
        recorder: &mut Recorder<'_>,
    ) {
        let mut waiting: Vec<_> = self.wanting.iter().map(|(index, (since, rule))| (*since, *index, *rule)).collect();
        waiting.sort_unstable();
        for (_, index, rule) in waiting {
            let Some(mut replica) = around.replicas.get_mut(index as usize).and_then(Option::take) else { continue };
            self.decide_one(key, spec, &mut replica, rule, now, around, recorder);
            around.replicas[index as usize] = Some(replica);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one decision looks at everything")]
    fn decide_one(
        &mut self,
        key: PolicyKey,
        spec: &Policy,
        replica: &mut Replica,
        rule: RuleKind,
        now: Time,
        around: &Surroundings<'_>,
        recorder: &mut Recorder<'_>,
    ) {
        let seat = replica.seat().and_then(|seat| self.seats.get(&seat));
        let in_flight = seat.is_some_and(|seat| seat.memory.intent.is_some());
        if in_flight && !seat.is_some_and(|seat| is_futile(seat, replica)) {
            return;
        }
        if let Some(obstacle) = self.obstacle(spec, replica, rule, now, around) {
            let news = replica.obstacle.map(Obstacle::name) != Some(obstacle.name());
            replica.obstacle = Some(obstacle);
            if news {
                let reason = Reason::Held { rule, by: obstacle };
                recorder.record(Some(key), replica.key, now, TransitionKind::RestartRefused, reason);
            }
            return;
        }
        let (Some(seat_key), Some(judge), Some(asked)) =
            (self.seat_of(replica), &replica.judges[rule], spec.rule(rule))
        else {
            return;
        };
        let reason = judge.failed(rule, asked);
        let stage_of_life = if replica.is_started() { StageOfLife::Started } else { StageOfLife::Starting };
        let order = Order { container: replica.lead().map(|lead| lead.incarnation), reason, stage_of_life };
        self.restarts.futile = self.restarts.futile.saturating_add(u32::from(in_flight));
        self.seats.entry(seat_key).or_default().decide(replica.key, rule, order, now);
        replica.obstacle = None;
        recorder.record(Some(key), replica.key, now, TransitionKind::RestartDecided, reason);
        recorder.push(Effect::RecordIntent { policy: key, replica: replica.key, seat: seat_key, rule });
    }

    /// What stands in the way of a restart, the lasting reasons first.
    fn obstacle(
        &self,
        spec: &Policy,
        replica: &Replica,
        rule: RuleKind,
        now: Time,
        around: &Surroundings<'_>,
    ) -> Option<Obstacle> {
        if !self.ever_passed[rule] {
            return Some(Obstacle::NeverPassed);
        }
        let seen = &replica.seen;
        let Some((owner_key, owner)) = seen.owner.and_then(|key| Some((key, around.owners.get(&key)?))) else {
            return Some(Obstacle::NotRecreated);
        };
        match (owner.kind, spec.restart.other_owners) {
            (OwnerKind::Job, _) | (OwnerKind::Other, OtherOwners::Refuse) => return Some(Obstacle::NotRecreated),
            (OwnerKind::OnDelete, _) => return Some(Obstacle::OnDelete),
            (OwnerKind::Recreates | OwnerKind::RecreatesInOrder, _) | (OwnerKind::Other, OtherOwners::Restart) => {}
        }
        // This replica itself is not in the table while it is decided on.
        if count(self.siblings(owner_key, around)) >= self.wanted(owner_key, around) {
            return Some(Obstacle::ScaledDown);
        }
        if let (OwnerKind::RecreatesInOrder, Place::Fixed(Slot::Ordinal(ordinal))) = (owner.kind, seen.place) {
            let ready_below = self.siblings(owner_key, around).filter(|other| {
                matches!(other.seen.place, Place::Fixed(Slot::Ordinal(lower)) if lower < ordinal)
                    && other.seen.ready == Readiness::Ready
            });
            if count(ready_below) < ordinal.saturating_sub(owner.first) {
                return Some(Obstacle::LowerOrdinalNotReady);
            }
        }
        if seen.node.and_then(|node| around.nodes.get(&node)) == Some(&NodeState::NotReady) {
            return Some(Obstacle::NodeNotReady);
        }
        if replica.is_backing_off() {
            return Some(Obstacle::KubeletBackoff);
        }
        let seat = replica.seat().and_then(|seat| self.seats.get(&seat));
        if let Some((_, waits)) = seat.and_then(|seat| seat.waits(spec.restart.backoff, now)) {
            return Some(waits);
        }
        let allowed = spec.restart.max_concurrent.of(self.desired(replica, around));
        let own = replica.seat();
        let others = self.seats.iter().filter(|(key, _)| Some(**key) != own);
        let in_flight = others.filter(|(_, seat)| seat.memory.intent.is_some()).count();
        (in_flight >= allowed as usize).then_some(Obstacle::MaxConcurrent { allowed })
    }

    /// How many replicas the owners of the policy's replicas want in all. `besides` is not in the table.
    fn desired(&self, besides: &Replica, around: &Surroundings<'_>) -> u32 {
        let others = self.members.iter().filter_map(|index| around.replicas.get(*index as usize)?.as_ref()?.seen.owner);
        let owners: BTreeSet<OwnerKey> = others.chain(besides.seen.owner).collect();
        owners.into_iter().map(|owner| self.wanted(owner, around)).sum()
    }

    /// How many replicas an owner wants; of an unknown kind, as many as live, the one that is decided on among them.
    fn wanted(&self, owner: OwnerKey, around: &Surroundings<'_>) -> u32 {
        match around.owners.get(&owner) {
            Some(Owner { kind: OwnerKind::Other, .. }) => count(self.siblings(owner, around)) + 1,
            Some(known) => known.desired,
            None => 0,
        }
    }

    /// The live replicas of an owner.
    fn siblings<'a>(&'a self, owner: OwnerKey, around: &'a Surroundings<'_>) -> impl Iterator<Item = &'a Replica> {
        let members = self.members.iter().filter_map(|index| around.replicas.get(*index as usize)?.as_ref());
        members.filter(move |other| other.seen.owner == Some(owner) && other.is_live())
    }

    /// The seat of a replica, a new one if its owner gives none.
    fn seat_of(&mut self, replica: &mut Replica) -> Option<SeatKey> {
        if let Some(key) = replica.seat() {
            return Some(key);
        }
        let key = SeatKey { owner: replica.seen.owner?, slot: Slot::Nth(self.next_nth) };
        self.next_nth = self.next_nth.saturating_add(1);
        replica.assigned = Some(key);
        Some(key)
    }

    /// The seat that remembers this replica, else the one of its owner that our restarts have left open longest.
    fn seat_left_open(&self, replica: &Replica) -> Option<SeatKey> {
        let remembered = self.seats.iter().find(|(_, seat)| seat.memory.occupant == Some(replica.key));
        let left_open = || {
            let open = self.seats.iter().filter_map(|(key, seat)| {
                let intent = seat.memory.intent.filter(|_| seat.is_open())?;
                let vacant = seat.memory.occupant == intent.replica || seat.memory.occupant.is_none();
                // The API server gives the time of creation in whole seconds.
                let newer = replica.seen.created + Span::from_secs(1) > intent.at;
                (Some(key.owner) == replica.seen.owner && vacant && newer).then_some((intent.at, *key))
            });
            open.min()
        };
        remembered.map(|(key, _)| *key).or_else(|| left_open().map(|(_, key)| key))
    }
}

impl Surroundings<'_> {
    /// The replica of that key, if it is still there.
    pub(super) fn replica(&self, key: ReplicaKey) -> Option<&Replica> {
        self.replicas.get(key.index as usize)?.as_ref().filter(|replica| replica.key == key)
    }
}

impl Replica {
    fn is_live(&self) -> bool {
        self.seen.lifecycle == Lifecycle::Live
    }
}

impl Restarts {
    fn count(&mut self, order: Order) {
        self.total = self.total.saturating_add(1);
        self.in_startup = self.in_startup.saturating_add(u32::from(order.stage_of_life == StageOfLife::Starting));
    }

    fn uncount(&mut self, order: Option<Order>) {
        let starting = order.is_some_and(|order| order.stage_of_life == StageOfLife::Starting);
        self.total = self.total.saturating_sub(1);
        self.in_startup = self.in_startup.saturating_sub(u32::from(starting));
    }
}

fn count<'a>(replicas: impl Iterator<Item = &'a Replica>) -> u32 {
    u32::try_from(replicas.count()).unwrap_or(u32::MAX)
}

fn is_recorded(seat: &Seat, replica: ReplicaKey) -> bool {
    seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica) && intent.stage == IntentStage::Recorded)
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
