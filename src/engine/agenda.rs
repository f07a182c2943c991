//! Who is to be looked at: those that something happened to, and those whose time has come.

use super::Time;

/// When something is to be looked at though nothing happens to it, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wake {
    at: Time,
    why: &'static str,
}

/// The agenda of things with dense indices: those that something happened to, and when the others are to be looked at.
///
/// Their times are in a tournament: a complete binary tree, whose leaves are the times of the things, in the order of
/// their indices, and in which every other node is the earlier of the two below it.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    touched: Touched,
    /// The root is at 1, below the node at `n` are those at `2n` and `2n + 1`, the leaves are the second half.
    nodes: Vec<Time>,
}

/// The things that something happened to.
#[derive(Debug, Default)]
struct Touched {
    count: usize,
    /// A bit for each thing.
    words: Vec<u64>,
}

pub(super) const NEVER: Time = Time::from_nanos(u64::MAX);

impl Default for Wake {
    fn default() -> Self {
        Self { at: NEVER, why: "" }
    }
}

impl Wake {
    /// Or at that time, if it is earlier.
    pub(super) fn or(&mut self, at: Option<Time>, why: &'static str) {
        let at = at.unwrap_or(NEVER);
        if at < self.at {
            *self = Self { at, why };
        }
    }

    /// The earliest, if there is one.
    pub(super) fn get(self) -> Option<(Time, &'static str)> {
        (self.at != NEVER).then_some((self.at, self.why))
    }
}

impl Agenda {
    /// An empty one, with room for so many things.
    pub(super) fn with_room_for(things: usize) -> Self {
        let mut agenda = Self::default();
        agenda.grow(things.next_power_of_two());
        agenda
    }

    /// Something happened to it: it is to be looked at at once.
    pub(super) fn touch(&mut self, index: u32) {
        self.touched.add(index);
    }

    /// Whether something happened to anybody who has not been looked at since.
    pub(super) fn is_touched(&self) -> bool {
        self.touched.count > 0
    }

    /// When it is to be looked at, if nothing happens to it before.
    pub(super) fn set(&mut self, index: u32, due: Option<Time>) {
        let due = due.unwrap_or(NEVER);
        if self.leaves() <= index as usize {
            self.grow((index as usize + 1).next_power_of_two());
        }
        let mut node = self.leaves() + index as usize;
        if std::mem::replace(&mut self.nodes[node], due) == due {
            return;
        }
        while node > 1 {
            let earlier = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == earlier {
                break;
            }
            self.nodes[node] = earlier;
        }
    }

    /// The first from this index on that is to be looked at by `now`. Whoever looks at it says when it is to be looked
    /// at again.
    pub(super) fn next(&mut self, from: u32, now: Time) -> Option<u32> {
        let next = self.first_from(from, now)?;
        self.touched.remove(next);
        Some(next)
    }

    /// When the first is to be looked at; [`Time::ZERO`] if something happened to it.
    pub(super) fn first_at(&self) -> Option<Time> {
        let due = self.nodes.get(1).copied().filter(|at| *at != NEVER);
        if self.is_touched() { Some(Time::ZERO) } else { due }
    }

    /// Who is to be looked at first, and when; of several the lowest index.
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        let at = self.first_at()?;
        Some((at, self.first_from(0, at)?))
    }

    fn first_from(&self, from: u32, now: Time) -> Option<u32> {
        match (self.touched.first(from), self.due(from, now)) {
            (Some(touched), Some(due)) => Some(touched.min(due)),
            (one, other) => one.or(other),
        }
    }

    /// The first from this index on whose time has come.
    fn due(&self, from: u32, now: Time) -> Option<u32> {
        let leaves = self.leaves();
        if self.nodes.get(1).is_none_or(|first| *first > now) || from as usize >= leaves {
            return None;
        }
        let largest_that_begins_at = |node: usize| node >> node.trailing_zeros();
        let mut node = largest_that_begins_at(leaves + from as usize);
        while self.nodes[node] > now {
            node = largest_that_begins_at(node + 1);
            if node == 1 {
                return None;
            }
        }
        while node < leaves {
            node = if self.nodes[2 * node] <= now { 2 * node } else { 2 * node + 1 };
        }
        u32::try_from(node - leaves).ok()
    }

    fn leaves(&self) -> usize {
        self.nodes.len() / 2
    }

    fn grow(&mut self, leaves: usize) {
        let mut nodes = vec![NEVER; 2 * leaves];
        nodes[leaves..leaves + self.leaves()].copy_from_slice(&self.nodes[self.leaves()..]);
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        self.nodes = nodes;
    }
}

impl Touched {
    fn add(&mut self, index: u32) {
        let (word, bit) = place(index);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    fn remove(&mut self, index: u32) {
        let (word, bit) = place(index);
        if let Some(word) = self.words.get_mut(word).filter(|word| **word & bit != 0) {
            *word &= !bit;
            self.count -= 1;
        }
    }

    /// The first from this index on.
    fn first(&self, from: u32) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let (mut word, bit) = place(from);
        let mut ahead = self.words.get(word)? & !(bit - 1);
        while ahead == 0 {
            word += 1;
            ahead = *self.words.get(word)?;
        }
        Some(word as u32 * u64::BITS + ahead.trailing_zeros())
    }
}

/// The word that an index has its bit in, and the bit.
fn place(index: u32) -> (usize, u64) {
    ((index / u64::BITS) as usize, 1 << (index % u64::BITS))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Touch(u32),
        Set(u32, Option<u64>),
        Poll,
    }

    fn step() -> impl Strategy<Value = Step> {
        let index = || 0..6u32;
        prop_oneof![
            index().prop_map(Step::Touch),
            (index(), prop::option::of(0..8u64)).prop_map(|(index, after)| Step::Set(index, after)),
            Just(Step::Poll),
        ]
    }

    proptest! {
        #[test]
        fn everybody_is_looked_at_once_in_order_and_on_time(steps in prop::collection::vec(step(), 0..200)) {
            let (mut agenda, mut touched, mut due) = (Agenda::default(), BTreeSet::new(), BTreeMap::new());
            for (now, step) in steps.into_iter().enumerate() {
                let now = now as u64;
                match step {
                    Step::Touch(index) => {
                        agenda.touch(index);
                        touched.insert(index);
                    }
                    Step::Set(index, after) => {
                        let at = after.map(|after| Time::from_nanos(now + after));
                        agenda.set(index, at);
                        due.retain(|other, _| *other != index);
                        due.extend(at.map(|at| (index, at)));
                    }
                    Step::Poll => {
                        let now = Time::from_nanos(now);
                        touched.extend(due.iter().filter(|(_, at)| **at <= now).map(|(index, _)| *index));
                        due.retain(|_, at| *at > now);
                        let (mut looked_at, mut from) = (Vec::new(), 0);
                        while let Some(index) = agenda.next(from, now) {
                            agenda.set(index, due.get(&index).copied());
                            (looked_at, from) = (looked_at.into_iter().chain([index]).collect(), index + 1);
                        }
                        prop_assert_eq!(looked_at, std::mem::take(&mut touched).into_iter().collect::<Vec<_>>());
                    }
                }
                let touched = touched.iter().map(|index| (Time::ZERO, *index));
                let first = due.iter().map(|(index, at)| (*at, *index)).chain(touched).min();
                prop_assert_eq!(agenda.first(), first);
            }
        }
    }
}
