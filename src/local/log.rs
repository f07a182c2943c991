//! What the load's lines say, turn by turn.

use super::replica::number;
use crate::fake_app::Write;
use crate::fake_app::load::{Outcome, RequestLine, TruthLine};
use crate::model::Traffic;
use crate::scenario::RequestKind;

/// What became of each turn, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    turns: Vec<Turn>,
    sent: Vec<Sent>,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// In which turn it really was, counted from 0; it may have been due in an earlier one.
    pub turn: u32,
    /// To which replica; none if it found nobody.
    pub to: Option<usize>,
}

/// What it means that a read found nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Somebody could have read.
    InVain,
    /// Nobody could.
    Rightly,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// What became of its requests.
    pub traffic: Traffic,
    /// What the replicas were in its middle; none if nobody looked.
    pub look: Option<Look>,
}

/// What the replicas were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Those that said that they are healthy, in the pool or not.
    pub healthy: usize,
    /// Those that were out of the pool.
    pub out_of_pool: usize,
}

impl Log {
    /// Takes note of a request that was sent in a turn, counted from 0; `rejected` says what it means that it found
    /// nobody.
    pub(super) fn request(&mut self, line: &RequestLine, turn: u32, rejected: Rejected) -> Traffic {
        let traffic = traffic(line, rejected);
        self.turn(line.turn).traffic.add(&traffic);
        self.sent.push(Sent { turn, to: line.pod.as_deref().and_then(number) });
        traffic
    }

    /// Takes note of writes that were accepted and are not there.
    pub(super) fn lost(&mut self, writes: &[Write]) {
        for write in writes {
            self.turn(write.turn).traffic.kinds[RequestKind::Write].lost_silently += 1;
        }
    }

    /// Takes note of how a turn was in its middle.
    pub(super) fn truth(&mut self, line: &TruthLine) {
        let look = Look { healthy: line.healthy, out_of_pool: line.states.len() - line.pool };
        self.turn(line.turn).look = Some(look);
    }

    /// Every request, in the order in which they were answered.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// The first `turns` turns, fewer if the log ends before.
    pub fn first(&self, turns: u32) -> &[Turn] {
        &self.turns[..self.turns.len().min(turns as usize)]
    }

    fn turn(&mut self, turn: u32) -> &mut Turn {
        let turn = turn as usize;
        if self.turns.len() <= turn {
            self.turns.resize(turn + 1, Turn::default());
        }
        &mut self.turns[turn]
    }
}

/// What became of one request; `rejected` says what it means if it found nobody.
pub fn traffic(line: &RequestLine, rejected: Rejected) -> Traffic {
    let mut traffic = Traffic::default();
    let tally = &mut traffic.kinds[line.request];
    tally.sent = 1;
    tally.dropped = u64::from(line.failed());
    let in_vain =
        line.request == RequestKind::Read && line.outcome == Outcome::EmptyPool && rejected == Rejected::InVain;
    traffic.vain_rejections = u64::from(in_vain);
    traffic.early_errors = u64::from(line.failed_early());
    traffic
}
