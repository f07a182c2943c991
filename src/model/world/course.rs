//! What the scenario brings, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::engine::Time;
use crate::scenario::{Opening, Scenario};

/// What is still ahead of a run.
pub(super) struct Course<'a> {
    scenario: &'a Scenario,
    /// Who is opened as planned and when, the latest first.
    openings: Vec<(Time, usize)>,
    /// When something else may be true of whom. What has been superseded stays in it until it comes up.
    changes: BinaryHeap<Reverse<(Time, usize)>>,
    /// When something else may be true of a replica, by its number.
    next_changes: Vec<Option<Time>>,
}

impl<'a> Course<'a> {
    /// A run that is about to begin; nobody's condition is expected to change yet.
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let openings = (0..scenario.replicas()).flat_map(|replica| {
            scenario.joins(replica).into_iter().chain(scenario.reopenings(replica)).map(move |time| (time, replica))
        });
        let mut openings: Vec<_> = openings.collect();
        openings.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            scenario,
            openings,
            changes: BinaryHeap::with_capacity(scenario.replicas()),
            next_changes: vec![None; scenario.replicas()],
        }
    }

    /// Takes the next who is opened as planned at `now`.
    pub(super) fn opening(&mut self, now: Time) -> Option<usize> {
        self.openings.pop_if(|(at, _)| *at <= now).map(|(_, replica)| replica)
    }

    /// Takes the next of whom something else may be true at `now`.
    pub(super) fn change(&mut self, now: Time) -> Option<usize> {
        while let Some(Reverse((at, replica))) = self.changes.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.changes.pop();
            if self.next_changes[replica] == Some(at) {
                return Some(replica);
            }
        }
        None
    }

    /// What is true of a replica at `now` has been read: it holds until the next change.
    pub(super) fn read(&mut self, replica: usize, opening: Opening, now: Time) {
        let next = self.scenario.next_change(replica, opening, now);
        self.next_changes[replica] = next;
        self.changes.extend(next.map(|at| Reverse((at, replica))));
    }

    /// Until when nothing happens to a replica itself after `now`, unless the engine does something; at most `end`.
    pub(super) fn quiet_until(&self, replica: usize, now: Time, end: Time) -> Time {
        let reopening = self.scenario.reopenings(replica).find(|at| *at > now);
        [self.next_changes[replica], reopening].into_iter().flatten().fold(end, Time::min)
    }

    /// When something happens next after `now`, to any replica or to the requests.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let opening = self.openings.last().map(|(at, _)| *at);
        let change = self.changes.peek().map(|Reverse((at, _))| *at);
        let requests = Some(self.scenario.begin_of(self.scenario.requests_from())).filter(|at| *at > now);
        [opening, change, requests].into_iter().flatten().min()
    }
}
