//! Where the replicas of a fleet sit: the seats outlive them.

use super::super::replica::Replica;
use super::super::seat::{Seat, StageOfLife};
use super::super::{Intent, IntentStage, Place, SeatKey, SeatMemory, Slot, Span, Time};
use super::Fleet;

impl Fleet {
    /// Takes a seat over from an earlier engine. What that one did lies behind us, also if its clock was ahead of ours.
    pub(in super::super) fn restore(&mut self, key: SeatKey, memory: SeatMemory, now: Time) {
        let last = memory.last.map(|last| last.min(now));
        let intent = memory.intent.map(|intent| Intent { at: intent.at.min(now), ..intent });
        let memory = SeatMemory { last, intent, ..memory };
        if let Slot::Nth(n) = key.slot {
            self.next_nth = self.next_nth.max(n.saturating_add(1));
        }
        let mut seat = Seat::restored(memory);
        if let Some(intent) = memory.intent.filter(|intent| intent.replica.is_none())
            && seat.carry_out(intent.at)
        {
            self.restarts.budget.spend(self.spec.as_ref().and_then(|spec| spec.restart.budget), intent.at);
        }
        *self.seats.open(key) = seat;
    }

    /// A replica's container was replaced in place, by our order or by somebody else.
    pub(in super::super) fn replaced(&mut self, replica: &mut Replica, stage: StageOfLife, now: Time) {
        let Some(key) = self.seat_of(replica) else { return };
        let seat = self.seats.open(key);
        seat.memory.occupant = Some(replica.key);
        let ours = seat.is_open() && seat.memory.intent.is_some_and(|intent| intent.replica == Some(replica.key));
        if ours {
            return;
        }
        if seat.memory.intent.is_some_and(|intent| intent.stage == IntentStage::Recorded) {
            seat.drop_intent();
        }
        seat.count_foreign(stage, now);
    }

    /// Gives a replica that was not known before its seat.
    pub(super) fn seat(&mut self, replica: &mut Replica) {
        let key = match replica.seen.place {
            Place::Fixed(_) => replica.seat(),
            Place::Any => self.seat_left_open(replica),
        };
        if let Some((key, seat)) = key.and_then(|key| Some((key, self.seats.open_known(key)?))) {
            seat.memory.occupant = Some(replica.key);
            if replica.seen.place == Place::Any {
                replica.sit(key);
            }
        }
    }

    /// The seat of a replica, a new one if its owner gives none.
    pub(super) fn seat_of(&mut self, replica: &mut Replica) -> Option<SeatKey> {
        if let Some(key) = replica.seat() {
            return Some(key);
        }
        let key = SeatKey { owner: replica.seen.owner?, slot: Slot::Nth(self.next_nth) };
        self.next_nth = self.next_nth.saturating_add(1);
        replica.sit(key);
        Some(key)
    }

    /// The seat that remembers this replica, else the one of its owner that our restarts have left open longest.
    fn seat_left_open(&self, replica: &Replica) -> Option<SeatKey> {
        let remembered = self.seats.iter().find(|(_, seat)| seat.memory.occupant == Some(replica.key));
        let left_open = || {
            let open = self.seats.opened().filter_map(|(key, seat)| {
                let intent = seat.memory.intent.filter(|_| seat.is_open())?;
                let vacant = seat.memory.occupant == intent.replica || seat.memory.occupant.is_none();
                // The API server gives the time of creation in whole seconds.
                let newer = replica.seen.created + Span::from_secs(1) > intent.at;
                (Some(key.owner) == replica.seen.owner && vacant && newer).then_some((intent.at, key))
            });
            open.min()
        };
        remembered.map(|(key, _)| key).or_else(|| left_open().map(|(_, key)| key))
    }
}
