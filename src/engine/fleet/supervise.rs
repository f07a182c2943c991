//! The restarts in flight, followed to their end; loops, told; seats that have been quiet for long, forgotten.

use std::collections::BTreeMap;

use super::super::replica::Replica;
use super::super::seat::Seat;
use super::super::{
    BudgetSettings, IntentStage, Policy, Reason, ReplicaKey, RestartSettings, RuleKind, SeatMemory, Time,
    TransitionKind,
};
use super::seats::Memory;
use super::{Fleet, Look, Restarts};

impl Fleet {
    /// Looks at every seat that is open or is to be forgotten.
    pub(super) fn supervise(&mut self, spec: &Policy, look: &mut Look<'_, '_>) {
        let Self { seats, restarts, wanting, breakers, .. } = self;
        seats.close(look.now, &spec.restart, |key, seat| {
            let sitter = Sitter::of(seat, wanting, look);
            let intent = seat.memory.intent;
            clear_up(seat, &sitter, restarts, spec.restart.budget, look);
            match end(seat, &sitter, &spec.restart, look) {
                Some(Benefit::Helped) => breakers.helped(key),
                Some(Benefit::None) => {
                    restarts.futile = restarts.futile.saturating_add(1);
                    breakers.did_not_help(key, look.now);
                }
                None => {}
            }
            if seat.memory.intent.is_none()
                && let Some(replica) = intent.and_then(|intent| intent.replica)
            {
                // The restart may have been all that it was counted for as one that fails to start.
                look.again(replica.index);
            }
            remember(seat, &sitter, &spec.restart, look)
        });
    }
}

/// Who sits in a seat.
struct Sitter {
    /// Whom its transitions are about.
    key: Option<ReplicaKey>,
    is_untouched: bool,
    is_judged_well: bool,
    /// A rule asks for a restart of it.
    is_failing: bool,
}

/// What a restart was good for.
enum Benefit {
    /// Its seat was judged well.
    Helped,
    /// Its seat was not, before a rule wanted the next restart, or in time.
    None,
}

impl Sitter {
    fn of(seat: &Seat, wanting: &BTreeMap<u32, (Time, RuleKind)>, look: &Look<'_, '_>) -> Self {
        let occupant = seat.memory.occupant.and_then(|key| look.replica(key));
        let is_failing = occupant.is_some_and(|replica| wanting.contains_key(&replica.key.index));
        Self {
            key: seat.memory.occupant.or(seat.memory.intent.and_then(|intent| intent.replica)),
            is_untouched: occupant.is_some_and(|replica| is_untouched(seat, replica)),
            is_judged_well: occupant.is_some_and(Replica::is_judged_well) && !is_failing,
            is_failing,
        }
    }

    fn tell(&self, kind: TransitionKind, reason: Reason, look: &mut Look<'_, '_>) {
        if let Some(replica) = self.key {
            look.recorder.record(Some(look.key), replica, look.now, kind, reason);
        }
    }
}

/// The replica is the very one, with the very container, that the seat's restart was decided for.
fn is_untouched(seat: &Seat, replica: &Replica) -> bool {
    let same = seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica.key));
    let container = seat.order().is_none_or(|order| replica.is_led_by(order.container));
    same && container && replica.is_live()
}

/// Decides whether a restart was carried out whose answer was lost, or whose engine ended.
fn clear_up(
    seat: &mut Seat,
    sitter: &Sitter,
    restarts: &mut Restarts,
    budget: Option<BudgetSettings>,
    look: &Look<'_, '_>,
) {
    if let Some(intent) = seat.memory.intent
        && intent.stage != IntentStage::CarriedOut
        && seat.order().is_none()
    {
        if sitter.is_untouched {
            seat.drop_intent();
        } else if seat.carry_out(intent.at) {
            restarts.budget.spend(budget, intent.at);
        }
    }
    if seat.doubted_until().is_some_and(|until| until <= look.now) {
        if sitter.is_untouched {
            restarts.uncount(seat.order(), budget);
            seat.disprove();
        } else {
            seat.believe();
        }
    }
}

/// Ends a restart whose seat came back well, or did not come back in time. Says once what it was good for.
fn end(seat: &mut Seat, sitter: &Sitter, settings: &RestartSettings, look: &mut Look<'_, '_>) -> Option<Benefit> {
    let intent = seat.memory.intent.filter(|intent| intent.stage == IntentStage::CarriedOut)?;
    if sitter.is_judged_well && !sitter.is_untouched {
        seat.drop_intent();
        sitter.tell(TransitionKind::Returned, Reason::Returned { after: look.now.since(intent.at) }, look);
        return Some(Benefit::Helped);
    }
    let was_futile = seat.is_futile();
    if seat.deadline(settings).is_some_and(|deadline| deadline <= look.now) {
        seat.fail();
        seat.drop_intent();
        sitter.tell(TransitionKind::DidNotReturn, Reason::DidNotReturn { deadline: settings.deadline }, look);
    } else if sitter.is_failing && !sitter.is_untouched {
        seat.fail();
        if seat.gave_up(settings) {
            seat.drop_intent();
        }
    } else {
        return None;
    }
    (!was_futile).then_some(Benefit::None)
}

/// Tells a loop that begins or ends.
fn remember(seat: &mut Seat, sitter: &Sitter, settings: &RestartSettings, look: &mut Look<'_, '_>) -> Memory {
    if sitter.is_judged_well && seat.memory.intent.is_none() {
        seat.memory.futile = 0;
    }
    let SeatMemory { restarts, foreign, .. } = seat.memory;
    if seat.loops(settings) && !seat.in_loop {
        seat.in_loop = true;
        sitter.tell(TransitionKind::LoopBegan, Reason::Loop { restarts, foreign, rule: seat.memory.last_rule }, look);
    }
    if seat.resets(settings).is_none_or(|at| at > look.now) {
        return Memory::Kept;
    }
    if seat.in_loop {
        sitter.tell(TransitionKind::LoopEnded, Reason::Quiet { span: settings.backoff.reset_after }, look);
    }
    Memory::Forgotten
}
