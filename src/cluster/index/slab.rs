//! Dense replica keys whose index is used again under a new generation.

use crate::engine::ReplicaKey;

/// Values by replica key. A key never reaches a value that came after its own.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> ReplicaKey {
        let next = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let index = self.free.pop().unwrap_or(next);
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                slot.generation += 1;
                slot.value = Some(value);
                ReplicaKey { index, generation: slot.generation }
            }
            None => {
                self.slots.push(Slot { generation: 0, value: Some(value) });
                ReplicaKey { index, generation: 0 }
            }
        }
    }

    pub(super) fn remove(&mut self, key: ReplicaKey) {
        if let Some(slot) = self.slots.get_mut(key.index as usize)
            && slot.generation == key.generation
            && slot.value.take().is_some()
        {
            self.free.push(key.index);
        }
    }

    pub(super) fn get(&self, key: ReplicaKey) -> Option<&T> {
        self.slots.get(key.index as usize).filter(|slot| slot.generation == key.generation)?.value.as_ref()
    }

    /// All values, by index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ReplicaKey, &T)> {
        self.slots
            .iter()
            .zip(0..)
            .filter_map(|(slot, index)| Some((ReplicaKey { index, generation: slot.generation }, slot.value.as_ref()?)))
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_used_again_and_the_old_key_does_not_reach_the_new_value() {
        let mut slab = Slab::default();
        let old = slab.insert("old");
        slab.remove(old);
        slab.remove(old);
        let new = slab.insert("new");
        assert_eq!((old.index, new.index), (0, 0));
        assert_eq!((slab.get(old), slab.get(new)), (None, Some(&"new")));
        assert_eq!(slab.insert("next").index, 1);
    }
}
