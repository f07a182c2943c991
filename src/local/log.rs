//! What the load's lines say, turn by turn.

use crate::fake_app::load::{Outcome, RequestLine, TruthLine};
use crate::model::Traffic;
use crate::scenario::{RequestKind, TrueState};

/// What became of each turn, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    turns: Vec<Turn>,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// What became of its requests.
    pub traffic: Traffic,
    /// Replicas that said in its middle that they are healthy, in the pool or not.
    pub healthy: usize,
    /// Replicas that were out of the pool in its middle.
    pub out_of_pool: usize,
}

impl Log {
    /// Takes note of a request.
    pub(super) fn request(&mut self, line: &RequestLine) -> Traffic {
        let traffic = traffic(line);
        self.turn(line.turn).traffic.add(&traffic);
        traffic
    }

    /// Takes note of how a turn was in its middle.
    pub(super) fn truth(&mut self, line: &TruthLine) {
        let turn = self.turn(line.turn);
        turn.healthy = line.healthy;
        turn.out_of_pool = line.states.len() - line.pool;
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

fn traffic(line: &RequestLine) -> Traffic {
    let mut traffic = Traffic::default();
    let tally = &mut traffic.kinds[RequestKind::Plain];
    tally.sent = 1;
    tally.dropped = u64::from(line.outcome != Outcome::Served);
    traffic.early_errors = u64::from(line.state == Some(TrueState::Starting));
    traffic
}
