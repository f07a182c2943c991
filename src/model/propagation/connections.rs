//! Connections that outlive an ejection.

use std::num::NonZeroU32;

use super::{Edge, Pool, Timeline};
use crate::engine::{Span, Time};

/// Connections that are opened to a replica in the pool at a steady pace, and stay open for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// So many are opened, the first at the beginning.
    pub per_second: NonZeroU32,
    /// How long each stays open.
    pub last: Span,
}

/// What an ejection leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// When new connections began to avoid the replica.
    pub ejected: Time,
    /// Connections that were open then.
    pub open: u64,
    /// When the last of them ends.
    pub last_ends: Time,
}

impl Connections {
    /// What the last ejection left behind; `None` if the replica is in the pool. A connection that is opened at the
    /// very instant of the ejection just missed it.
    pub fn left_by(self, pool: &Timeline<Pool>) -> Option<Leftover> {
        let (ejected, Pool::Out) = *pool.transitions().last()? else { return None };
        let opened = (0u64..).map(|n| self.opening(n)).take_while(|opened| *opened <= ejected);
        let (mut open, mut last_ends) = (0, ejected);
        for opened in opened.filter(|opened| pool.at(*opened, Edge::Missed) == Pool::In) {
            if opened + self.last > ejected {
                open += 1;
                last_ends = opened + self.last;
            }
        }
        Some(Leftover { ejected, open, last_ends })
    }

    fn opening(self, n: u64) -> Time {
        let nanos = u128::from(n) * 1_000_000_000 / u128::from(self.per_second.get());
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
