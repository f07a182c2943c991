//! What replicas belong to and run on: owners and nodes, by UID and by name.

use std::collections::BTreeMap;

use crate::cluster::WatchKind;
use crate::cluster::records::{NodeRecord, ObjectName, OwnerRecord, OwnerRef, Uid};
use crate::engine::{Input, NodeKey, NodeState, OwnerKey};

/// Every owner that a watch shows or a replica names. The engine hears of those that a replica names.
#[derive(Debug, Default)]
pub(super) struct Owners {
    entries: BTreeMap<Uid, Entry>,
    by_key: Vec<Uid>,
}

#[derive(Debug)]
struct Entry {
    record: OwnerRecord,
    key: Option<OwnerKey>,
}

impl Owners {
    pub(super) fn seen(&mut self, record: OwnerRecord, inputs: &mut Vec<Input>) {
        let Some(entry) = self.entries.get_mut(&record.uid) else {
            self.entries.insert(record.uid.clone(), Entry { record, key: None });
            return;
        };
        if let Some(owner) = entry.key
            && entry.record.owner != record.owner
        {
            inputs.push(Input::OwnerSeen { owner, seen: record.owner });
        }
        entry.record = record;
    }

    /// An owner that is gone wants nothing any more. It is kept if a replica has named it, for its name.
    pub(super) fn gone(&mut self, uid: &Uid, inputs: &mut Vec<Input>) {
        let Some(entry) = self.entries.get(uid) else { return };
        if entry.key.is_none() {
            self.entries.remove(uid);
            return;
        }
        let mut record = entry.record.clone();
        record.owner.desired = 0;
        self.seen(record, inputs);
    }

    /// The key of the owner that a pod of `namespace` names, telling the engine of the owner if it has no key yet.
    pub(super) fn key(&mut self, named: &OwnerRef, namespace: &str, inputs: &mut Vec<Input>) -> OwnerKey {
        let entry = self.entries.entry(named.uid.clone()).or_insert_with(|| {
            let name = ObjectName::new(namespace, &named.name);
            let record = OwnerRecord { watch: None, name, uid: named.uid.clone(), owner: named.unseen() };
            Entry { record, key: None }
        });
        entry.key(&mut self.by_key, inputs)
    }

    /// The key of an owner that is known by its UID only, in the same way; `None` if there is none.
    pub(super) fn key_of(&mut self, uid: &Uid, inputs: &mut Vec<Input>) -> Option<OwnerKey> {
        self.entries.get_mut(uid).map(|entry| entry.key(&mut self.by_key, inputs))
    }

    pub(super) fn get(&self, key: OwnerKey) -> Option<&OwnerRecord> {
        let uid = self.by_key.get(key.0 as usize)?;
        self.entries.get(uid).map(|entry| &entry.record)
    }

    pub(super) fn of_watch(&self, watch: WatchKind) -> Vec<Uid> {
        let entries = self.entries.iter().filter(|(_, entry)| entry.record.watch == Some(watch));
        entries.map(|(uid, _)| uid.clone()).collect()
    }

    pub(super) fn replay(&self, inputs: &mut Vec<Input>) {
        for (uid, key) in self.by_key.iter().zip(0..) {
            if let Some(entry) = self.entries.get(uid) {
                inputs.push(Input::OwnerSeen { owner: OwnerKey(key), seen: entry.record.owner });
            }
        }
    }
}

impl Entry {
    fn key(&mut self, by_key: &mut Vec<Uid>, inputs: &mut Vec<Input>) -> OwnerKey {
        *self.key.get_or_insert_with(|| {
            let owner = OwnerKey(next(by_key));
            by_key.push(self.record.uid.clone());
            inputs.push(Input::OwnerSeen { owner, seen: self.record.owner });
            owner
        })
    }
}

/// Every node that its watch shows or a replica names.
#[derive(Debug)]
pub(super) struct Nodes {
    entries: BTreeMap<Box<str>, (NodeKey, NodeState)>,
    by_key: Vec<Box<str>>,
    unseen: NodeState,
    zones: BTreeMap<Box<str>, Box<str>>,
}

impl Nodes {
    /// No nodes yet; one that no watch has shown counts as `unseen`.
    pub(super) fn new(unseen: NodeState) -> Self {
        Self { entries: BTreeMap::new(), by_key: Vec::new(), unseen, zones: BTreeMap::new() }
    }

    pub(super) fn seen(&mut self, record: NodeRecord, inputs: &mut Vec<Input>) {
        let key = self.key(&record.name, inputs);
        match record.zone {
            Some(zone) => self.zones.insert(record.name.clone(), zone),
            None => self.zones.remove(&record.name),
        };
        let told = self.entries.insert(record.name, (key, record.state));
        if told.is_none_or(|(_, state)| state != record.state) {
            inputs.push(Input::NodeSeen { node: key, state: record.state });
        }
    }

    /// Nothing runs on a node that is gone.
    pub(super) fn gone(&mut self, name: &str, inputs: &mut Vec<Input>) {
        self.seen(NodeRecord { name: name.into(), state: NodeState::NotReady, zone: None }, inputs);
    }

    /// The key of a node, telling the engine of it if it is new.
    pub(super) fn key(&mut self, name: &str, inputs: &mut Vec<Input>) -> NodeKey {
        if let Some(&(key, _)) = self.entries.get(name) {
            return key;
        }
        let node = NodeKey(next(&self.by_key));
        self.by_key.push(name.into());
        self.entries.insert(name.into(), (node, self.unseen));
        inputs.push(Input::NodeSeen { node, state: self.unseen });
        node
    }

    pub(super) fn name(&self, key: NodeKey) -> Option<&str> {
        self.by_key.get(key.0 as usize).map(|name| &**name)
    }

    /// The zone that a node is in, if it says so.
    pub(super) fn zone(&self, name: &str) -> Option<&str> {
        self.zones.get(name).map(|zone| &**zone)
    }

    pub(super) fn names(&self) -> Vec<Box<str>> {
        self.by_key.clone()
    }

    pub(super) fn replay(&self, inputs: &mut Vec<Input>) {
        for &(node, state) in self.entries.values() {
            inputs.push(Input::NodeSeen { node, state });
        }
    }
}

fn next<T>(keys: &[T]) -> u32 {
    u32::try_from(keys.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use serde_json::json;

    use super::*;
    use crate::cluster::test_support::{World, observed, owner, policy, web};
    use crate::cluster::{Change, Scope, WatchEvent};
    use crate::engine::OwnerKind;

    #[test]
    fn an_owner_is_told_before_its_first_replica_and_wants_nothing_before_and_after_it_is_seen() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let desired = |told: &[Input]| {
            let Input::OwnerSeen { owner: OwnerKey(0), seen } = told[0] else { panic!("no owner in {told:?}") };
            (seen.kind, seen.desired)
        };
        let told = world.pod(web("a").owned("ReplicaSet", "web").unscheduled());
        assert_eq!(desired(&told), (OwnerKind::Recreates, 0));
        assert_eq!(observed(&told)[0].owner, Some(OwnerKey(0)));
        let set = || owner::<ReplicaSet>("web", json!({"spec": {"replicas": 3, "selector": {}}}));
        assert_eq!(desired(&world.owner(set())), (OwnerKind::Recreates, 3));
        let gone = world.apply(WatchEvent::Owners(WatchKind::ReplicaSets, Change::Deleted(set())));
        assert_eq!(desired(&gone), (OwnerKind::Recreates, 0));
    }

    #[test]
    fn a_node_that_was_never_shown_is_not_ready_unless_nodes_cannot_be_read() {
        for (scope, state) in
            [(Scope::Cluster, NodeState::NotReady), (Scope::Namespace("shop".to_owned()), NodeState::Ready)]
        {
            let mut world = World::of(&scope);
            let told = world.pod(web("a").gated());
            assert_eq!(told[0], Input::NodeSeen { node: NodeKey(0), state });
        }
    }

    #[test]
    fn a_node_is_told_when_its_state_changes_and_is_not_ready_once_gone() {
        let mut world = World::new();
        let node = |state| NodeRecord { name: "node-a".into(), state, zone: None };
        let told = |state| vec![Input::NodeSeen { node: NodeKey(0), state }];
        world.pod(web("a").gated());
        assert_eq!(world.apply(WatchEvent::Nodes(Change::Applied(node(NodeState::Ready)))), told(NodeState::Ready));
        assert_eq!(world.apply(WatchEvent::Nodes(Change::Applied(node(NodeState::Ready)))), []);
        assert_eq!(world.apply(WatchEvent::Nodes(Change::Deleted(node(NodeState::Ready)))), told(NodeState::NotReady));
    }
}
