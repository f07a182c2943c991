//! Requests: what a replica needs to serve each kind of them.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

use super::{Condition, Store, Stores, TrueState};

/// A kind of request, in the order in which those of a turn are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestKind {
    /// Needs what `/ready` asks for.
    Plain,
    /// Needs a replica that can read.
    Read,
    /// Needs a replica that can read, its own way to the state store, and the state store.
    Write,
    /// Needs the billing store, and any replica whatever its condition.
    Batch,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is done.
    Served,
    /// It fails, and the client knows.
    Dropped,
    /// It is accepted and never done.
    LostSilently,
}

/// One of something for each kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PerKind<T> {
    /// Of plain requests.
    pub plain: T,
    /// Of reads.
    pub read: T,
    /// Of writes.
    pub write: T,
    /// Of batch jobs.
    pub batch: T,
}

impl RequestKind {
    /// Every kind, in the order in which those of a turn are sent.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Read, Self::Write, Self::Batch];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Read => "read",
            Self::Write => "write",
            Self::Batch => "batch",
        }
    }

    /// What becomes of such a request at a replica in that condition, with the shared stores as they are.
    pub const fn fate(self, condition: Condition, stores: Stores) -> Fate {
        let served = match self {
            Self::Plain | Self::Read => condition.can_read(),
            Self::Write => {
                if condition.can_read() && condition.is(TrueState::HalfDown) {
                    return Fate::LostSilently;
                }
                condition.can_read() && stores.up(Store::State)
            }
            Self::Batch => stores.up(Store::Billing),
        };
        if served { Fate::Served } else { Fate::Dropped }
    }
}

impl<T> Index<RequestKind> for PerKind<T> {
    type Output = T;
    fn index(&self, kind: RequestKind) -> &T {
        match kind {
            RequestKind::Plain => &self.plain,
            RequestKind::Read => &self.read,
            RequestKind::Write => &self.write,
            RequestKind::Batch => &self.batch,
        }
    }
}

impl<T> IndexMut<RequestKind> for PerKind<T> {
    fn index_mut(&mut self, kind: RequestKind) -> &mut T {
        match kind {
            RequestKind::Plain => &mut self.plain,
            RequestKind::Read => &mut self.read,
            RequestKind::Write => &mut self.write,
            RequestKind::Batch => &mut self.batch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(kind: RequestKind, state: TrueState) -> Fate {
        kind.fate(state.into(), Stores::UP)
    }

    #[test]
    fn who_cannot_read_drops_everything_but_batch_jobs() {
        for state in TrueState::ALL {
            let expected = if Condition::from(state).can_read() { Fate::Served } else { Fate::Dropped };
            assert_eq!(fate(RequestKind::Plain, state), expected, "{state}");
            assert_eq!(fate(RequestKind::Read, state), expected, "{state}");
            assert_eq!(fate(RequestKind::Batch, state), Fate::Served, "{state}");
            if state != TrueState::HalfDown {
                assert_eq!(fate(RequestKind::Write, state), expected, "{state}");
            }
        }
    }

    #[test]
    fn a_write_is_lost_silently_only_by_a_half_down_replica_that_can_read() {
        let half_down = Condition::from(TrueState::HalfDown);
        let without = Stores::without(Store::State);
        assert_eq!(RequestKind::Write.fate(half_down, Stores::UP), Fate::LostSilently);
        assert_eq!(RequestKind::Write.fate(half_down, without), Fate::LostSilently);
        assert_eq!(RequestKind::Write.fate(half_down.with(TrueState::Silent), Stores::UP), Fate::Dropped);
        assert_eq!(RequestKind::Write.fate(Condition::HEALTHY, without), Fate::Dropped);
    }

    #[test]
    fn only_batch_jobs_need_the_billing_store() {
        let needing = RequestKind::ALL
            .into_iter()
            .filter(|kind| kind.fate(Condition::HEALTHY, Stores::without(Store::Billing)) == Fate::Dropped);
        assert_eq!(needing.collect::<Vec<_>>(), [RequestKind::Batch]);
    }
}
