//! Connections that outlive an ejection.

use std::num::NonZeroU64;

use super::{Edge, Pool, Timeline};
use crate::engine::{Span, Time};

/// Connections that are opened to a replica in the pool at a steady pace, and stay open for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Nanoseconds from one opening to the next, counted from the beginning.
    pub every_nanos: NonZeroU64,
    /// How long each stays open.
    pub lasting: Span,
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
        let opened = (0u64..)
            .map(|n| Time::from_nanos(n.saturating_mul(self.every_nanos.get())))
            .take_while(|opened| *opened <= ejected)
            .filter(|opened| pool.at(*opened, Edge::Missed) == Pool::In && *opened + self.lasting > ejected);
        let (mut open, mut last_ends) = (0, ejected);
        for opened in opened {
            open += 1;
            last_ends = opened + self.lasting;
        }
        Some(Leftover { ejected, open, last_ends })
    }
}
