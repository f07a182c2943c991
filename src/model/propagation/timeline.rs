//! A state over time.

use crate::engine::{Span, Time};

/// What a state was at first, and every transition with its time, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline<State> {
    first: State,
    transitions: Vec<(Time, State)>,
}

/// What somebody sees who looks at the very instant of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The state after it: the transition was just caught.
    Caught,
    /// The state before it: the transition was just missed.
    Missed,
}

impl<State: Copy + PartialEq> Timeline<State> {
    /// A state that has not changed yet.
    pub const fn new(first: State) -> Self {
        Self { first, transitions: Vec::new() }
    }

    /// Writes down a state, which is a transition if it is another one. Times come in their order.
    pub fn set(&mut self, at: Time, state: State) {
        if state != self.latest() {
            self.transitions.push((at, state));
        }
    }

    /// The same with a transition at `at`.
    pub fn then(mut self, at: Time, state: State) -> Self {
        self.set(at, state);
        self
    }

    /// The state that nothing has changed since.
    pub fn latest(&self) -> State {
        self.transitions.last().map_or(self.first, |(_, state)| *state)
    }

    /// The state at an instant.
    pub fn at(&self, now: Time, edge: Edge) -> State {
        let seen = self.transitions.partition_point(|(at, _)| edge.sees(*at, now));
        seen.checked_sub(1).map_or(self.first, |latest| self.transitions[latest].1)
    }

    /// The history, in the order of time.
    pub fn transitions(&self) -> &[(Time, State)] {
        &self.transitions
    }

    /// When it changed, in the order of time.
    pub fn instants(&self) -> impl Iterator<Item = Time> {
        self.transitions.iter().map(|(at, _)| *at)
    }

    /// The longest stretch in which not all timelines were in the same state; one that does not end counts up to
    /// `until`.
    pub fn longest_disagreement(timelines: &[&Self], until: Time) -> Span {
        let mut instants: Vec<_> = timelines.iter().flat_map(|timeline| timeline.instants()).collect();
        instants.sort_unstable();
        let mut longest = Span::ZERO;
        let mut since = None;
        for now in instants {
            let mut states = timelines.iter().map(|timeline| timeline.at(now, Edge::Caught));
            let first = states.next();
            if states.all(|state| Some(state) == first) {
                longest = longest.max(since.take().map_or(Span::ZERO, |since| now.since(since)));
            } else {
                since.get_or_insert(now);
            }
        }
        longest.max(since.map_or(Span::ZERO, |since| until.since(since)))
    }
}

impl Edge {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Caught, Self::Missed];

    /// Whether somebody who looks at `now` sees what happened at `at`.
    pub fn sees(self, at: Time, now: Time) -> bool {
        match self {
            Self::Caught => at <= now,
            Self::Missed => at < now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_transition_is_seen_at_its_instant_or_just_missed() {
        let timeline = Timeline::new('a').then(t(3), 'b').then(t(5), 'c');
        let seen = |seconds| Edge::BOTH.map(|edge| timeline.at(t(seconds), edge));
        assert_eq!([seen(2), seen(3), seen(4), seen(5)], [['a', 'a'], ['b', 'a'], ['b', 'b'], ['c', 'b']]);
    }

    #[test]
    fn the_same_state_again_is_no_transition() {
        let timeline = Timeline::new('a').then(t(1), 'a').then(t(2), 'b').then(t(3), 'b');
        assert_eq!(timeline.transitions(), [(t(2), 'b')]);
    }

    #[test]
    fn a_disagreement_lasts_from_the_first_to_the_last_and_the_longest_counts() {
        let first = Timeline::new('a').then(t(1), 'b').then(t(10), 'a');
        let second = Timeline::new('a').then(t(3), 'b').then(t(11), 'a');
        let third = Timeline::new('a').then(t(4), 'b').then(t(10), 'a');
        assert_eq!(Timeline::longest_disagreement(&[&first, &second, &third], t(20)), Span::from_secs(3));
        assert_eq!(Timeline::longest_disagreement(&[&first], t(20)), Span::ZERO);
        assert_eq!(Timeline::longest_disagreement(&[&first, &Timeline::new('a')], t(20)), Span::from_secs(9));
    }

    #[test]
    fn a_disagreement_that_does_not_end_counts_to_the_end() {
        let timelines = [&Timeline::new('a').then(t(5), 'b'), &Timeline::new('a')];
        assert_eq!(Timeline::longest_disagreement(&timelines, t(20)), Span::from_secs(15));
    }
}
