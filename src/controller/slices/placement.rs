//! Which slice an endpoint is in. Pure, and stable: whoever is placed stays, so that a change touches few slices.
//!
//! A newcomer goes to the fullest slice with room. Two slices that together fill no more than half of one become one,
//! so that all but one are more than a quarter full, whatever comes and goes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// In which slice `S` each endpoint `K` is. No slice is empty, and none holds more than the limit.
#[derive(Clone, Debug)]
pub(super) struct Placement<S, K> {
    limit: NonZeroUsize,
    slices: BTreeMap<S, BTreeSet<K>>,
    of: BTreeMap<K, S>,
}

impl<S: Ord + Clone, K: Ord + Clone> Placement<S, K> {
    /// Nobody is placed.
    pub(super) fn new(limit: NonZeroUsize) -> Self {
        Self { limit, slices: BTreeMap::new(), of: BTreeMap::new() }
    }

    /// Takes a slice over as it was found, but for those that are placed already or beyond the limit.
    pub(super) fn adopt(&mut self, slice: &S, found: impl IntoIterator<Item = K>) {
        for key in found {
            let size = self.slices.get(slice).map_or(0, BTreeSet::len);
            if size < self.limit.get() && !self.of.contains_key(&key) {
                self.add(slice.clone(), key);
            }
        }
    }

    /// Places somebody who is not placed yet, in a `fresh` slice if there is no room elsewhere; whoever is placed stays.
    pub(super) fn put(&mut self, key: K, fresh: impl FnOnce() -> S) -> S {
        if let Some(slice) = self.slice_of(&key) {
            return slice.clone();
        }
        let room = self.slices.iter().filter(|(_, keys)| keys.len() < self.limit.get());
        let fullest = room.max_by_key(|(slice, keys)| (keys.len(), Reverse(*slice))).map(|(slice, _)| slice.clone());
        let slice = fullest.unwrap_or_else(fresh);
        self.add(slice.clone(), key);
        slice
    }

    /// Takes somebody out, and says which slices are otherwise than before, or gone.
    pub(super) fn remove(&mut self, key: &K) -> BTreeSet<S> {
        let Some(slice) = self.of.remove(key) else { return BTreeSet::new() };
        if let Some(keys) = self.slices.get_mut(&slice) {
            keys.remove(key);
        }
        self.slices.retain(|_, keys| !keys.is_empty());
        let mut changed = self.pack();
        changed.insert(slice);
        changed
    }

    /// Makes one slice of two as long as there are two that fill no more than half of one, and says which slices are
    /// otherwise than before, or gone.
    pub(super) fn pack(&mut self) -> BTreeSet<S> {
        let mut changed = BTreeSet::new();
        loop {
            let mut by_size: Vec<_> = self.slices.iter().map(|(slice, keys)| (keys.len(), slice)).collect();
            by_size.sort_unstable();
            let [(few, from), (more, to), ..] = by_size[..] else { return changed };
            if few + more > self.limit.get() / 2 {
                return changed;
            }
            let (from, to) = (from.clone(), to.clone());
            for key in self.slices.remove(&from).into_iter().flatten() {
                self.add(to.clone(), key);
            }
            changed.extend([from, to]);
        }
    }

    /// The slice that somebody is in.
    pub(super) fn slice_of(&self, key: &K) -> Option<&S> {
        self.of.get(key)
    }

    /// Who is in a slice; nobody if there is no such slice.
    pub(super) fn members(&self, slice: &S) -> impl Iterator<Item = &K> {
        self.slices.get(slice).into_iter().flatten()
    }

    /// Whether there is such a slice.
    pub(super) fn has(&self, slice: &S) -> bool {
        self.slices.contains_key(slice)
    }

    fn add(&mut self, slice: S, key: K) {
        self.slices.entry(slice.clone()).or_default().insert(key.clone());
        self.of.insert(key, slice);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: NonZeroUsize = NonZeroUsize::new(12).unwrap();

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8),
        Remove(u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let who = 0..60u8;
        prop::collection::vec(
            prop_oneof![3 => who.clone().prop_map(Step::Put), 2 => who.prop_map(Step::Remove)],
            0..300,
        )
    }

    type Slices = BTreeMap<u32, BTreeSet<u8>>;

    fn differ(before: &Slices, now: &Slices) -> BTreeSet<u32> {
        before.keys().chain(now.keys()).filter(|slice| before.get(*slice) != now.get(*slice)).copied().collect()
    }

    fn check(placement: &Placement<u32, u8>, there: &BTreeSet<u8>) -> Result<(), TestCaseError> {
        let slices = &placement.slices;
        let mut placed: Vec<u8> = slices.values().flatten().copied().collect();
        placed.sort_unstable();
        prop_assert_eq!(placed, there.iter().copied().collect::<Vec<_>>(), "each in exactly one");
        prop_assert!(slices.values().all(|keys| (1..=LIMIT.get()).contains(&keys.len())), "{slices:?}");
        let sparse = slices.values().filter(|keys| keys.len() <= LIMIT.get() / 4).count();
        prop_assert!(sparse <= 1, "{slices:?}");
        Ok(())
    }

    proptest! {
        #[test]
        fn whoever_comes_and_goes_each_is_in_one_slice_and_few_slices_change(steps in steps()) {
            let (mut placement, mut there) = (Placement::new(LIMIT), BTreeSet::new());
            for (fresh, step) in (0..).zip(steps) {
                let before = placement.slices.clone();
                match step {
                    Step::Put(who) => {
                        let slice = placement.put(who, || fresh);
                        let changed = differ(&before, &placement.slices);
                        prop_assert_eq!(changed, if there.insert(who) { [slice].into() } else { BTreeSet::new() });
                    }
                    Step::Remove(who) => {
                        let told = placement.remove(&who);
                        let changed = differ(&before, &placement.slices);
                        prop_assert!(changed.is_subset(&told) && changed.len() <= 2, "{told:?} {changed:?}");
                        there.remove(&who);
                    }
                }
                check(&placement, &there)?;
            }
        }

        #[test]
        fn whatever_is_found_each_is_in_one_slice_and_within_the_limit(
            found in prop::collection::vec(prop::collection::vec(0..60u8, 0..30), 0..8)
        ) {
            let (mut placement, mut there) = (Placement::new(LIMIT), BTreeSet::new());
            for (name, slice) in (0..).zip(&found) {
                placement.adopt(&name, slice.iter().copied());
                there.extend(slice);
            }
            for who in &there {
                placement.put(*who, || 100 + u32::from(*who));
            }
            placement.pack();
            check(&placement, &there)?;
        }
    }
}
