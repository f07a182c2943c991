//! What happened in a run, in any world: to each replica over time, and to the requests turn by turn.

use std::collections::BTreeMap;

use crate::engine::{Reason, Span, Time, TransitionKind};
use crate::scenario::TrueState;

/// What happened in a run. Time counts from the beginning of its first turn, before which every replica is healthy and
/// in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    turn: Span,
    first_turn: u32,
    /// What every replica was last.
    latest: Vec<Latest>,
    /// Of those replicas to whom something happened.
    lanes: BTreeMap<usize, Lane>,
    turns: Vec<Losses>,
}

/// Requests of a turn that came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Those that failed.
    pub failed: u64,
    /// Those that were accepted and never done.
    pub silent: u64,
}

/// What happened to one replica, each list in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    states: Vec<(Time, Option<TrueState>)>,
    memberships: Vec<(Time, Membership)>,
    decisions: Vec<Decision>,
}

/// What a replica was last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latest {
    state: Option<TrueState>,
    membership: Membership,
}

/// Whether the pool believes in a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// It gets requests.
    In,
    /// It does not.
    Out,
}

/// Something that was decided about a replica, or came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// What.
    pub kind: TransitionKind,
    /// Why.
    pub reason: Reason,
    /// What the replica really was; of a restart, what it was before.
    pub state: TrueState,
}

/// A stretch of time in which something held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<T> {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// What held.
    pub what: T,
}

impl Recording {
    /// Nothing has happened yet to so many replicas.
    pub fn new(replicas: usize, turn: Span, first_turn: u32) -> Self {
        let latest = Latest { state: Some(TrueState::Healthy), membership: Membership::In };
        Self { turn, first_turn, latest: vec![latest; replicas], lanes: BTreeMap::new(), turns: Vec::new() }
    }

    /// From now on a replica really is in that state, or is not there. Of a replica that there is not, nothing is kept.
    pub fn state(&mut self, now: Time, replica: usize, state: Option<TrueState>) {
        if let Some(latest) = self.latest.get_mut(replica).filter(|latest| latest.state != state) {
            latest.state = state;
            change(&mut self.lane(replica).states, now, state);
        }
    }

    /// From now on the pool believes in a replica, or does not.
    pub fn membership(&mut self, now: Time, replica: usize, membership: Membership) {
        if let Some(latest) = self.latest.get_mut(replica).filter(|latest| latest.membership != membership) {
            latest.membership = membership;
            change(&mut self.lane(replica).memberships, now, membership);
        }
    }

    /// Something was decided about a replica.
    pub fn decision(&mut self, replica: usize, decision: Decision) {
        if replica < self.latest.len() {
            self.lane(replica).decisions.push(decision);
        }
    }

    /// A turn is over.
    pub fn turn_is_over(&mut self, losses: Losses) {
        self.turns.push(losses);
    }

    /// The same, with this for what came to nothing in each turn that is over.
    #[must_use]
    pub fn with_losses(mut self, turns: Vec<Losses>) -> Self {
        self.turns = turns;
        self
    }

    /// The length of a turn.
    pub const fn turn(&self) -> Span {
        self.turn
    }

    /// The end of the last turn that is over.
    pub fn end(&self) -> Time {
        Time::ZERO + self.turn * self.turns.len() as u64
    }

    /// The number of the turn that an instant belongs to, by the scenario's count.
    pub fn turn_at(&self, at: Time) -> u64 {
        at.as_nanos() / self.turn.as_nanos().max(1) + u64::from(self.first_turn)
    }

    /// How many replicas there are.
    pub fn replicas(&self) -> usize {
        self.latest.len()
    }

    /// The replicas to whom something happened, by their numbers, and what.
    pub fn lanes(&self) -> impl ExactSizeIterator<Item = (usize, &Lane)> {
        self.lanes.iter().map(|(replica, lane)| (*replica, lane))
    }

    /// What came to nothing, turn by turn.
    pub fn losses(&self) -> &[Losses] {
        &self.turns
    }

    fn lane(&mut self, replica: usize) -> &mut Lane {
        self.lanes.entry(replica).or_default()
    }
}

impl Lane {
    /// What the replica really was, from the beginning of the run to its end.
    pub fn states(&self, end: Time) -> Vec<Stretch<Option<TrueState>>> {
        stretches(Some(TrueState::Healthy), &self.states, end)
    }

    /// Whether the pool believed in it, from the beginning of the run to its end.
    pub fn memberships(&self, end: Time) -> Vec<Stretch<Membership>> {
        stretches(Membership::In, &self.memberships, end)
    }

    /// What was decided about it.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}

/// Of several changes at one instant only the last one shows. What is told late happens when it is told.
fn change<T>(changes: &mut Vec<(Time, T)>, now: Time, to: T) {
    match changes.last_mut() {
        Some((at, what)) if *at >= now => *what = to,
        Some(_) | None => changes.push((now, to)),
    }
}

fn stretches<T: Copy>(before: T, changes: &[(Time, T)], end: Time) -> Vec<Stretch<T>> {
    let begins = std::iter::once((Time::ZERO, before)).chain(changes.iter().copied());
    let ends = changes.iter().map(|(at, _)| (*at).min(end)).chain([end]);
    let stretches = begins.zip(ends).map(|((from, what), to)| Stretch { from, to, what });
    stretches.filter(|stretch| stretch.from < stretch.to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn only_those_to_whom_something_happened_have_a_lane() {
        let mut recording = Recording::new(100_000, Span::from_secs(1), 1);
        recording.state(t(0), 7, Some(TrueState::Healthy));
        recording.membership(t(0), 7, Membership::In);
        assert_eq!(recording.lanes().len(), 0);
        recording.state(t(1), 7, Some(TrueState::Stuck));
        recording.membership(t(2), 9, Membership::Out);
        assert_eq!(recording.lanes().map(|(replica, _)| replica).collect::<Vec<_>>(), [7, 9]);
    }

    #[test]
    fn what_held_is_told_from_the_beginning_to_the_end() {
        let mut recording = Recording::new(1, Span::from_secs(1), 1);
        for (at, state) in [(3, TrueState::Stuck), (5, TrueState::Starting), (5, TrueState::Healthy)] {
            recording.state(t(at), 0, Some(state));
        }
        for failed in [0, 0, 0, 5, 5, 0] {
            recording.turn_is_over(Losses { failed, silent: 0 });
        }
        let (_, lane) = recording.lanes().next().unwrap();
        let stretches: Vec<_> = lane.states(recording.end()).iter().map(|s| (s.from, s.to, s.what)).collect();
        let expected = [
            (t(0), t(3), Some(TrueState::Healthy)),
            (t(3), t(5), Some(TrueState::Stuck)),
            (t(5), t(6), Some(TrueState::Healthy)),
        ];
        assert_eq!(stretches, expected);
        assert_eq!(recording.turn_at(t(3)), 4);
    }
}
