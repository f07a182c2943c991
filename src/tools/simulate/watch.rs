//! A run, recorded and perhaps traced.

use std::io::Write;

use super::trace::Trace;
use crate::engine::Transition;
use crate::model::{Attempt, Moment, Observer, Turn};
use crate::report::Recording;
use crate::scenario::{Condition, Opening};

/// Who watches a run.
pub struct Watch<'a, W> {
    /// What is kept.
    pub recording: Recording,
    /// What is told at once.
    pub trace: Option<&'a mut Trace<W>>,
}

impl<W: Write> Observer for Watch<'_, W> {
    fn opened(&mut self, at: Moment, replica: usize, opening: Opening) {
        self.recording.opened(at, replica, opening);
        if let Some(trace) = &mut self.trace {
            trace.opened(at, replica, opening);
        }
    }

    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        self.recording.attempted(at, attempt);
        if let Some(trace) = &mut self.trace {
            trace.attempted(at, attempt);
        }
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        self.recording.decided(at, transition, condition);
        if let Some(trace) = &mut self.trace {
            trace.decided(at, transition, condition);
        }
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        self.recording.passed(at, turn);
        if let Some(trace) = &mut self.trace {
            trace.passed(at, turn);
        }
    }
}
