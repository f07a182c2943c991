//! A turn's requests, counted in closed form.

use super::{Member, Standing};
use crate::scenario::{Condition, Fate, PerKind, RequestKind, Rotation, Store, Stores, TrueState};

/// What became of the requests of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By kind.
    pub kinds: PerKind<Tally>,
    /// Failed requests on a member that was starting.
    pub early_errors: u64,
    /// Reads that an empty pool refused while some replica could read.
    pub vain_rejections: u64,
}

/// What became of requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests sent.
    pub sent: u64,
    /// Of those, failed.
    pub dropped: u64,
    /// Of those, accepted and never done.
    pub lost_silently: u64,
}

/// The replicas as the requests find them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// What is true of those in the pool, in the order of the replicas.
    pub(super) members: Vec<Condition>,
    /// Who has joined and is out of it.
    pub(super) out: u64,
    /// Who is healthy, in it or not.
    pub(super) healthy: u64,
    /// Whether anybody can read, in it or not.
    pub(super) can_read: bool,
}

/// Who gets which request: round-robin over the pool, in the order of the replicas.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundRobin {
    rotation: Rotation,
    /// Requests that have found a member.
    counter: u64,
}

impl Traffic {
    /// Requests of every kind.
    pub fn sent(&self) -> u64 {
        RequestKind::ALL.into_iter().map(|kind| self.kinds[kind].sent).sum()
    }

    /// Failed requests of every kind.
    pub fn errors(&self) -> u64 {
        RequestKind::ALL.into_iter().map(|kind| self.kinds[kind].dropped).sum()
    }

    /// The same in each of so many turns.
    pub(super) fn times(&self, turns: u32) -> Self {
        let turns = u64::from(turns);
        let mut all = *self;
        for kind in RequestKind::ALL {
            let Tally { sent, dropped, lost_silently } = &mut all.kinds[kind];
            for count in [sent, dropped, lost_silently] {
                *count *= turns;
            }
        }
        all.early_errors *= turns;
        all.vain_rejections *= turns;
        all
    }

    /// Adds what became of further requests.
    pub fn add(&mut self, other: &Self) {
        for kind in RequestKind::ALL {
            let Tally { sent, dropped, lost_silently } = other.kinds[kind];
            let tally = &mut self.kinds[kind];
            tally.sent += sent;
            tally.dropped += dropped;
            tally.lost_silently += lost_silently;
        }
        self.early_errors += other.early_errors;
        self.vain_rejections += other.vain_rejections;
    }
}

impl Pool {
    /// Counts the replicas anew.
    pub(super) fn count(&mut self, replicas: &[Member]) {
        self.members.clear();
        (self.out, self.healthy, self.can_read) = (0, 0, false);
        for Member { condition, standing } in replicas {
            match standing {
                Standing::Absent => continue,
                Standing::Out => self.out += 1,
                Standing::In => self.members.push(*condition),
            }
            self.healthy += u64::from(*condition == Condition::HEALTHY);
            self.can_read = self.can_read || condition.can_read();
        }
    }
}

impl RoundRobin {
    pub(super) fn new(rotation: Rotation) -> Self {
        Self { rotation, counter: 0 }
    }

    /// Sends the requests of a turn.
    pub(super) fn send(&mut self, requests: PerKind<u32>, pool: &Pool, stores: Stores) -> Traffic {
        if self.rotation == Rotation::EachTurn {
            self.counter = 0;
        }
        let mut traffic = Traffic::default();
        let are_well = stores == Stores::UP && pool.members.iter().all(|condition| *condition == Condition::HEALTHY);
        for kind in RequestKind::ALL {
            let count = u64::from(requests[kind]);
            traffic.kinds[kind].sent = count;
            if pool.members.is_empty() {
                traffic.kinds[kind].dropped = count;
                if kind == RequestKind::Read && pool.can_read {
                    traffic.vain_rejections = count;
                }
            } else if kind == RequestKind::Batch && !stores.up(Store::Billing) {
                traffic.kinds[kind].dropped = count;
            } else if are_well {
                self.counter += count;
            } else if count > 0 {
                self.spread(kind, count, &pool.members, stores, &mut traffic);
            }
        }
        traffic
    }

    /// Every member gets its share; those next in turn get one of what does not go round.
    fn spread(&mut self, kind: RequestKind, count: u64, pool: &[Condition], stores: Stores, traffic: &mut Traffic) {
        let size = pool.len() as u64;
        let (each, left_over, next) = (count / size, count % size, self.counter % size);
        for (member, condition) in (0u64..).zip(pool) {
            let ahead = if member < next { member + size - next } else { member - next };
            let share = each + u64::from(ahead < left_over);
            match kind.fate(*condition, stores) {
                Fate::Served => {}
                Fate::LostSilently => traffic.kinds[kind].lost_silently += share,
                Fate::Dropped => {
                    traffic.kinds[kind].dropped += share;
                    if condition.is(TrueState::Starting) {
                        traffic.early_errors += share;
                    }
                }
            }
        }
        self.counter += count;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn condition() -> impl Strategy<Value = Condition> {
        prop::collection::vec(prop::sample::select(TrueState::ALL.to_vec()), 0..3)
            .prop_map(|states| states.into_iter().fold(Condition::HEALTHY, Condition::with))
    }

    fn requests() -> impl Strategy<Value = PerKind<u32>> {
        (0u32..40, 0u32..12, 0u32..12, 0u32..5).prop_map(|(plain, read, write, batch)| PerKind {
            plain,
            read,
            write,
            batch,
        })
    }

    proptest! {
        #[test]
        fn the_closed_form_counts_what_request_by_request_counts(
            turns in prop::collection::vec((requests(), prop::collection::vec(condition(), 0..7), 0usize..4), 1..6),
            rotation in prop::sample::select(vec![Rotation::EachTurn, Rotation::Continuous]),
            can_read: bool,
        ) {
            let all = [
                Stores::UP,
                Stores::without(Store::State),
                Stores::without(Store::Billing),
                Stores::without(Store::State) | Stores::without(Store::Billing),
            ];
            let mut closed = RoundRobin::new(rotation);
            let mut counter = 0;
            for (requests, pool, stores) in turns {
                let stores = all[stores];
                if rotation == Rotation::EachTurn {
                    counter = 0;
                }
                let mut one_by_one = Traffic::default();
                for kind in RequestKind::ALL {
                    for _ in 0..requests[kind] {
                        one_by_one.kinds[kind].sent += 1;
                        if pool.is_empty() {
                            one_by_one.kinds[kind].dropped += 1;
                            one_by_one.vain_rejections += u64::from(can_read && kind == RequestKind::Read);
                            continue;
                        }
                        if kind == RequestKind::Batch && !stores.up(Store::Billing) {
                            one_by_one.kinds[kind].dropped += 1;
                            continue;
                        }
                        let member = pool[counter % pool.len()];
                        counter += 1;
                        match kind.fate(member, stores) {
                            Fate::Served => {}
                            Fate::LostSilently => one_by_one.kinds[kind].lost_silently += 1,
                            Fate::Dropped => {
                                one_by_one.kinds[kind].dropped += 1;
                                one_by_one.early_errors += u64::from(member.is(TrueState::Starting));
                            }
                        }
                    }
                }
                let pool = Pool { members: pool, can_read, ..Pool::default() };
                prop_assert_eq!(closed.send(requests, &pool, stores), one_by_one);
            }
        }
    }
}
