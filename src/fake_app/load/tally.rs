//! Passes the lines on and counts what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

use super::line::{Line, Outcome, Outlived, RequestLine, Summary, TruthLine};
use super::plan::ms;
use crate::fake_app::Write;
use crate::scenario::RequestKind;

/// What the lines say so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    requests: u64,
    early_errors: u64,
    failed: BTreeMap<Outcome, u64>,
    turns: u64,
    healthy: u64,
    accepted: BTreeSet<Write>,
}

/// What the lines do not say.
pub(super) struct End {
    /// When the first turn began.
    pub start: Timestamp,
    /// Requests that were not sent, since it was told to end.
    pub unsent: u64,
    /// The most that a request was sent after it was due.
    pub late: Duration,
    /// What the store holds, if it was asked.
    pub held: Option<BTreeSet<Write>>,
    /// Connections that outlived the ejection of their pod.
    pub outlived: Outlived,
}

impl Tally {
    /// Passes every line on as it comes, until nobody sends any more.
    pub fn count(lines: &Receiver<Line>, pass_on: &mut dyn FnMut(&Line) -> io::Result<()>) -> io::Result<Self> {
        let mut tally = Self::default();
        for line in lines {
            match &line {
                Line::Request(line) => tally.request(line),
                Line::Truth(line) => tally.truth(line),
                Line::Summary(_) => {}
            }
            pass_on(&line)?;
        }
        Ok(tally)
    }

    /// The summary.
    pub fn summary(self, end: End) -> Summary {
        Summary {
            start: end.start,
            requests: self.requests,
            unsent: end.unsent,
            latest_ms: ms(end.late),
            total_errors: self.failed.values().sum(),
            early_errors: self.early_errors,
            failed: self.failed,
            truly_serving: (self.turns > 0).then(|| self.healthy as f64 / self.turns as f64),
            lost_writes: end.held.map(|held| self.accepted.difference(&held).copied().collect()),
            outlived: end.outlived,
        }
    }

    fn request(&mut self, line: &RequestLine) {
        self.requests += 1;
        if line.failed() {
            *self.failed.entry(line.outcome).or_default() += 1;
        } else if line.request == RequestKind::Write {
            self.accepted.insert(Write { turn: line.turn, n: line.n });
        }
        self.early_errors += u64::from(line.failed_early());
    }

    fn truth(&mut self, line: &TruthLine) {
        self.turns += 1;
        self.healthy += line.healthy as u64;
    }
}
