//! The fleets of all policies.

use super::super::PolicyKey;
use super::Fleet;

/// The fleets, by the number of their policy's key. A number is never used again, so a fleet that is gone leaves an
/// empty place behind.
#[derive(Debug, Default)]
pub(in super::super) struct Fleets(Vec<Option<Box<Fleet>>>);

impl Fleets {
    pub(in super::super) fn get(&self, key: PolicyKey) -> Option<&Fleet> {
        self.0.get(key.0 as usize)?.as_deref()
    }

    pub(in super::super) fn get_mut(&mut self, key: PolicyKey) -> Option<&mut Fleet> {
        self.0.get_mut(key.0 as usize)?.as_deref_mut()
    }

    /// The fleet of that policy, a new one if there is none.
    pub(in super::super) fn get_or_new(&mut self, key: PolicyKey) -> &mut Fleet {
        let index = key.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_default()
    }

    pub(in super::super) fn remove(&mut self, key: PolicyKey) {
        if let Some(fleet) = self.0.get_mut(key.0 as usize) {
            *fleet = None;
        }
    }

    /// All of them, in the order of their keys.
    pub(in super::super) fn iter_mut(&mut self) -> impl Iterator<Item = (PolicyKey, &mut Fleet)> {
        (0..).map(PolicyKey).zip(&mut self.0).filter_map(|(key, fleet)| Some((key, fleet.as_deref_mut()?)))
    }
}
