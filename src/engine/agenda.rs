//! Who is to be looked at: those that something happened to, and those whose time has come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Time;

/// When something is to be looked at though nothing happens to it, and what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wake(Option<(Time, &'static str)>);

/// The agenda of things with dense indices. Everybody on it is looked at once a poll, in the order of the indices.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: Vec<Entry>,
    /// Who is to be looked at; while a poll runs, the highest index first.
    touched: Vec<u32>,
    /// The times of the entries. One that has been superseded stays until it comes up, but never on top.
    queue: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    due: Option<Time>,
    is_touched: bool,
}

impl Wake {
    /// Or at that time, if it is earlier.
    pub(super) fn or(&mut self, at: Option<Time>, why: &'static str) {
        if let Some(at) = at
            && self.0.is_none_or(|(before, _)| at < before)
        {
            self.0 = Some((at, why));
        }
    }

    /// The earliest, if there is one.
    pub(super) fn get(self) -> Option<(Time, &'static str)> {
        self.0
    }
}

impl Agenda {
    /// Something happened to it.
    pub(super) fn touch(&mut self, index: u32) {
        let entry = entry(&mut self.entries, index);
        if !std::mem::replace(&mut entry.is_touched, true) {
            self.touched.push(index);
        }
    }

    /// Whether something happened to anybody since the poll began.
    pub(super) fn is_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Begins a poll: puts those whose time has come to those that something happened to.
    pub(super) fn begin(&mut self, now: Time) {
        while let Some(Reverse((at, index))) = self.queue.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.queue.pop();
            let entry = entry(&mut self.entries, index);
            if entry.due == Some(at) {
                entry.due = None;
                self.touch(index);
            }
        }
        self.drop_superseded();
        if self.touched.len() > 1 {
            self.touched.sort_unstable_by_key(|index| Reverse(*index));
        }
    }

    /// The next to be looked at in this poll.
    pub(super) fn next(&mut self) -> Option<u32> {
        let index = self.touched.pop()?;
        entry(&mut self.entries, index).is_touched = false;
        Some(index)
    }

    /// When it is due, whatever happens before.
    pub(super) fn set(&mut self, index: u32, due: Option<Time>) {
        let entry = entry(&mut self.entries, index);
        if entry.due == due {
            return;
        }
        entry.due = due;
        if let Some(at) = due {
            self.queue.push(Reverse((at, index)));
        }
        self.drop_superseded();
    }

    /// Who is due first, and when; of several the lowest index.
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        self.queue.peek().map(|Reverse(first)| *first)
    }

    fn drop_superseded(&mut self) {
        while let Some(Reverse((at, index))) = self.queue.peek()
            && entry(&mut self.entries, *index).due != Some(*at)
        {
            self.queue.pop();
        }
    }
}

fn entry(entries: &mut Vec<Entry>, index: u32) -> &mut Entry {
    let index = index as usize;
    if entries.len() <= index {
        entries.resize(index + 1, Entry::default());
    }
    &mut entries[index]
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
                        agenda.begin(Time::from_nanos(now));
                        touched.extend(due.iter().filter(|(_, at)| at.as_nanos() <= now).map(|(index, _)| *index));
                        due.retain(|_, at| at.as_nanos() > now);
                        let looked_at: Vec<u32> = std::iter::from_fn(|| agenda.next()).collect();
                        prop_assert_eq!(looked_at, std::mem::take(&mut touched).into_iter().collect::<Vec<_>>());
                    }
                }
                prop_assert_eq!(agenda.first(), due.iter().map(|(index, at)| (*at, *index)).min());
            }
        }
    }
}
