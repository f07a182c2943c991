//! What is noted of a run while it goes on, what its observer is told, and what is left of it in the end.

use std::time::Duration;

use super::World;
use crate::engine::{Span, Time};
use crate::fake_app::load::{Line, Summary};
use crate::local::log::Rejected;
use crate::local::run::Run;
use crate::model::{Member, Moment, Observer, Standing, Turn};
use crate::scenario::TrueState;

/// What a request may be late without being worth a word.
const LATE: Duration = Duration::from_millis(30);

impl World {
    pub(super) fn note(&mut self, line: &Line, observer: &mut dyn Observer) {
        match line {
            Line::Request(request) => {
                let at = Time::ZERO + Span::from_nanos((request.at_ms * 1e6) as u64);
                let can_read = (0..self.replicas.len()).any(|replica| self.condition(replica, at).can_read());
                let rejected = if can_read { Rejected::InVain } else { Rejected::Rightly };
                let turn = self.scenario.turn_at(at) - u64::from(self.scenario.first_turn());
                let traffic = self.log.request(request, u32::try_from(turn).unwrap_or(u32::MAX), rejected);
                self.untold.add(&traffic);
            }
            Line::Truth(truth) => {
                self.log.truth(truth);
                let now = self.moment(self.clock.now());
                let replicas: Vec<_> = (0..self.replicas.len()).map(|replica| self.member(replica, now.time)).collect();
                let (stores, traffic) = (self.scenario.stores(now.time), std::mem::take(&mut self.untold));
                let at = Moment { turn: self.scenario.first_turn() + truth.turn, ..now };
                observer.passed(at, &Turn { replicas: &replicas, stores, traffic: &traffic });
            }
            Line::Summary(_) => {}
        }
    }

    fn member(&self, replica: usize, now: Time) -> Member {
        let held = &self.replicas[replica];
        let standing = match (held.is_there(), held.is_in_pool()) {
            (false, _) => Standing::Absent,
            (true, false) => Standing::Out,
            (true, true) => Standing::In,
        };
        Member { condition: self.condition(replica, now), standing }
    }

    pub(super) fn end(mut self, stopped: Option<Time>, summary: &Summary) -> Run {
        self.log.lost(summary.lost_writes.as_deref().unwrap_or_default());
        let turn = self.scenario.turn();
        let passed = stopped.map_or(u64::MAX, |at| at.since(Time::ZERO).as_nanos() / turn.as_nanos());
        let turns = u32::try_from(passed).unwrap_or(u32::MAX).min(self.scenario.turns());
        let end = Time::ZERO + turn * u64::from(turns);
        let is_stuck = |replica: &usize| self.condition(*replica, end).is(TrueState::Stuck);
        self.counts.undetected += (0..self.replicas.len()).filter(is_stuck).count() as u64;
        let restarts = self.restarts.into_iter().filter(|restart| restart.at < end).collect();
        let remark = summary.remark(LATE);
        Run { scenario: self.scenario, turns, restarts, counts: self.counts, edits: self.edits, log: self.log, remark }
    }
}
