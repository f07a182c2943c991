//! What the load's lines say, turn by turn.

use crate::fake_app::load::{Line, Outcome};
use crate::scenario::TrueState;

/// What became of each turn, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    turns: Vec<Turn>,
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Failed requests.
    pub errors: u32,
    /// Of those, on a member that was starting.
    pub early_errors: u32,
    /// Replicas that were healthy in its middle, in the pool or not.
    pub healthy: usize,
}

impl Log {
    /// Takes note of a line.
    pub fn note(&mut self, line: &Line) {
        match line {
            Line::Request(request) => {
                let turn = self.turn(request.turn);
                turn.errors += u32::from(request.outcome != Outcome::Served);
                turn.early_errors += u32::from(request.state == Some(TrueState::Starting));
            }
            Line::Truth(truth) => self.turn(truth.turn).healthy = truth.healthy,
            Line::Summary(_) => {}
        }
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
