//! What forwards a device's traffic to a replica.

use super::{Move, Pool, Profile, Reads, Standing};
use crate::engine::Time;

/// Where the traffic to one replica goes: it follows what the device has decided at the times of its reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarder {
    /// When the results are read, and when next; none if they never are.
    reads: Option<(Reads, Time)>,
    /// When a worse result is read again.
    again: Option<Time>,
    pool: Pool,
}

impl Forwarder {
    /// A replica in or out of the pool, whose results are first read at that time.
    pub fn new(profile: Profile, first: Time, pool: Pool) -> Self {
        Self { reads: profile.reads().map(|reads| (reads, first)), again: None, pool }
    }

    /// Where the traffic goes.
    pub const fn pool(&self) -> Pool {
        self.pool
    }

    /// When the result is read next; `None` for never.
    pub fn next_read(&self) -> Option<Time> {
        let (_, regular) = self.reads?;
        Some(self.again.map_or(regular, |again| again.min(regular)))
    }

    /// Reads at [`Self::next_read`] what the device has decided.
    pub fn read(&mut self, standing: Standing) {
        let (Some(now), Some((reads, regular))) = (self.next_read(), &mut self.reads) else { return };
        if *regular == now {
            *regular = now + reads.every();
        }
        let is_read_again = self.again.take_if(|again| *again == now).is_some();
        match (standing, self.pool) {
            (Standing::Passing, _) => self.pool = Pool::In,
            (Standing::Failing | Standing::Preparing, Pool::In) if !is_read_again => {
                self.again.get_or_insert(now + reads.again(Move::Eject));
            }
            (Standing::Failing | Standing::Preparing, _) => self.pool = Pool::Out,
        }
    }

    /// The profile was assigned or changed, which takes effect at once.
    pub fn prepare(&mut self) {
        if self.reads.is_some() {
            (self.pool, self.again) = (Pool::Out, None);
        }
    }
}
