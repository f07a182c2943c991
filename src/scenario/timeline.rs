//! What holds from which turn on.

use std::ops::{BitOr, BitXor};

/// A set whose members come and go with the turns; empty before the first change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Timeline<T> {
    /// In the order of time: what holds from this turn on.
    changes: Vec<(u32, T)>,
}

/// One member of the set is there for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spell<T> {
    pub(super) what: T,
    /// The first turn.
    pub(super) from: u32,
    /// The first turn after it, later than `from`; none if there is none.
    pub(super) until: Option<u32>,
}

impl<T: Copy + Default + Ord + BitOr<Output = T> + BitXor<Output = T>> Timeline<T> {
    /// Spells in any order, which may overlap; each is about one member of the set.
    pub(super) fn of(mut spells: Vec<Spell<T>>) -> Self {
        spells.sort_unstable();
        let mut toggles = Vec::new();
        for together in spells.chunk_by(|a, b| a.what == b.what) {
            let mut open: Option<Spell<T>> = None;
            for spell in together {
                open = Some(match open {
                    Some(earlier) if earlier.until.is_none_or(|until| spell.from <= until) => {
                        Spell { until: later(earlier.until, spell.until), ..earlier }
                    }
                    Some(earlier) => {
                        toggles.extend(ends_of(earlier));
                        *spell
                    }
                    None => *spell,
                });
            }
            toggles.extend(open.into_iter().flat_map(ends_of));
        }
        toggles.sort_unstable_by_key(|(turn, _)| *turn);
        let mut changes: Vec<(u32, T)> = Vec::new();
        for (turn, what) in toggles {
            match changes.last_mut() {
                Some((last, holds)) if *last == turn => *holds = *holds ^ what,
                last => {
                    let before = last.map_or(T::default(), |(_, holds)| *holds);
                    changes.push((turn, before ^ what));
                }
            }
        }
        Self { changes }
    }

    /// What holds in a turn.
    pub(super) fn at(&self, turn: u64) -> T {
        let after = self.changes.partition_point(|(from, _)| u64::from(*from) <= turn);
        after.checked_sub(1).map_or(T::default(), |index| self.changes[index].1)
    }

    /// What holds in a turn if all begins anew every `length` turns, and what outlasts that goes on.
    pub(super) fn repeating_at(&self, turn: u64, length: u32) -> T {
        let length = u64::from(length);
        let ends = self.changes.iter().skip(1).map(|(until, _)| u64::from(*until)).chain([u64::MAX]);
        let phase = turn % length;
        self.changes.iter().zip(ends).fold(T::default(), |all, ((from, what), until)| {
            let earliest = phase + u64::from(*from).saturating_sub(phase).div_ceil(length) * length;
            if earliest < until && earliest <= turn { all | *what } else { all }
        })
    }

    /// The first turn after this one in which something else holds.
    pub(super) fn next_change(&self, turn: u64) -> Option<u32> {
        let after = self.changes.partition_point(|(from, _)| u64::from(*from) <= turn);
        self.changes.get(after).map(|(from, _)| *from)
    }
}

fn ends_of<T: Copy>(spell: Spell<T>) -> impl Iterator<Item = (u32, T)> {
    [Some(spell.from), spell.until].into_iter().flatten().map(move |turn| (turn, spell.what))
}

/// The later of two ends, none of them later than any.
fn later(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    one.zip(other).map(|(one, other)| one.max(other))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spells() -> impl Strategy<Value = Vec<Spell<u8>>> {
        let spell = (0u32..3, 0u32..20, prop::option::weighted(0.9, 1u32..15)).prop_map(|(what, from, length)| Spell {
            what: 1 << what,
            from,
            until: length.map(|length| from + length),
        });
        prop::collection::vec(spell, 0..8)
    }

    fn held_at(spells: &[Spell<u8>], turn: u64) -> u8 {
        let holds = |spell: &&Spell<u8>| {
            u64::from(spell.from) <= turn && spell.until.is_none_or(|until| turn < u64::from(until))
        };
        spells.iter().filter(holds).fold(0, |all, spell| all | spell.what)
    }

    proptest! {
        #[test]
        fn spells_may_overlap_touch_and_never_end(spells in spells(), turn in 0u64..40) {
            prop_assert_eq!(Timeline::of(spells.clone()).at(turn), held_at(&spells, turn));
        }

        #[test]
        fn repeating_is_what_any_earlier_run_would_have_left(spells in spells(), turn in 0u64..60, length in 1u32..25) {
            let runs = (0..=turn).rev().step_by(length as usize);
            let held = runs.fold(0, |all, turn| all | held_at(&spells, turn));
            prop_assert_eq!(Timeline::of(spells).repeating_at(turn, length), held);
        }

        #[test]
        fn between_two_changes_nothing_changes(spells in spells(), turn in 0u64..40) {
            let timeline = Timeline::of(spells);
            let next = timeline.next_change(turn).map_or(60, u64::from);
            for later in turn..next {
                prop_assert_eq!(timeline.at(later), timeline.at(turn));
            }
        }
    }
}
