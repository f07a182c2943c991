//! The revisions that replicas are made from, by name.

use std::collections::BTreeMap;

use crate::engine::RevisionKey;

/// Every revision that a replica was ever made from. There are no more than there were rollouts.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    keys: BTreeMap<Box<str>, RevisionKey>,
    names: Vec<Box<str>>,
}

impl Revisions {
    /// The key of a revision, a new one if it is new.
    pub(super) fn key(&mut self, name: &str) -> RevisionKey {
        if let Some(&key) = self.keys.get(name) {
            return key;
        }
        let key = RevisionKey(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.into());
        self.keys.insert(name.into(), key);
        key
    }

    pub(super) fn name(&self, key: RevisionKey) -> Option<&str> {
        self.names.get(key.0 as usize).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::test_support::{World, observed, policy, web};

    #[test]
    fn replicas_of_one_template_are_of_one_revision() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let mut revision = |name, label, value| observed(&world.pod(web(name).label(label, value)))[0].revision;
        assert_eq!(revision("a", "pod-template-hash", "5f9c"), Some(RevisionKey(0)));
        assert_eq!(revision("b", "pod-template-hash", "5f9c"), Some(RevisionKey(0)));
        assert_eq!(revision("c", "controller-revision-hash", "web-77d4"), Some(RevisionKey(1)));
        assert_eq!(revision("d", "app", "web"), None);
        assert_eq!(world.index.revision(RevisionKey(1)), Some("web-77d4"));
    }
}
