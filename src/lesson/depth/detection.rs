//! How long it takes until a check rejects a replica that is stopped.

use crate::engine::{OutcomeClass, RuleKind, Span, Time};
use crate::model::{Attempt, Moment, Observer};
use crate::scenario::{Opening, Scenario, Stop};

/// Watches for each stop the first check that rejects the replica while it is stopped, in the pool or not.
pub struct Detection {
    turn: Span,
    threshold: u32,
    /// Failed checks in a row, by replica.
    noes: Vec<u32>,
    /// In the order of the replicas, and for each in the order of time.
    stops: Vec<Watched>,
}

struct Watched {
    replica: usize,
    stop: Stop,
    rejected: Option<Time>,
}

impl Detection {
    /// Watches the stops of a scenario under a readiness rule with that failure threshold.
    pub fn new(scenario: &Scenario, threshold: u32) -> Self {
        let stops = (0..scenario.replicas())
            .flat_map(|replica| scenario.stops(replica).map(move |stop| Watched { replica, stop, rejected: None }));
        let stops = stops.collect();
        Self { turn: scenario.turn(), threshold, noes: vec![0; scenario.replicas()], stops }
    }

    /// For each stop that was detected, the turns that took.
    pub fn delays(&self) -> Vec<u64> {
        let delay = |watched: &Watched| {
            watched.rejected.map(|at| at.since(watched.stop.from).as_nanos() / self.turn.as_nanos())
        };
        self.stops.iter().filter_map(delay).collect()
    }
}

impl Observer for Detection {
    fn opened(&mut self, _at: Moment, replica: usize, _opening: Opening) {
        self.noes[replica] = 0;
    }

    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        if attempt.rule != RuleKind::Readiness {
            return;
        }
        let noes = &mut self.noes[attempt.replica];
        *noes = if attempt.outcome == OutcomeClass::Passed { 0 } else { *noes + 1 };
        if *noes < self.threshold {
            return;
        }
        for watched in self.stops.iter_mut().filter(|watched| watched.replica == attempt.replica) {
            let Stop { from, until, .. } = watched.stop;
            if watched.rejected.is_none() && from <= at.time && until.is_none_or(|until| at.time < until) {
                watched.rejected = Some(at.time);
            }
        }
    }
}
