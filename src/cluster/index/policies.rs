//! The policies, and which of them keeps a pod.

use std::collections::BTreeMap;

use crate::api::{Ask, ParsedPolicy, Selector};
use crate::cluster::records::{ObjectName, PodRecord, PolicyRecord};
use crate::engine::{Input, PerRule, PolicyKey};

#[derive(Debug, Default)]
pub(super) struct Policies {
    entries: BTreeMap<PolicyKey, Entry>,
    next: u32,
}

#[derive(Debug)]
struct Entry {
    record: PolicyRecord,
    /// The last one that made sense.
    in_force: Option<Box<ParsedPolicy>>,
}

impl Policies {
    /// Takes in a policy's record; true if it may keep other pods than before, or ask them something else.
    pub(super) fn seen(&mut self, record: PolicyRecord, inputs: &mut Vec<Input>) -> bool {
        let policy = self.key(&record.name).unwrap_or_else(|| {
            self.next += 1;
            PolicyKey(self.next - 1)
        });
        let before = self.entries.remove(&policy);
        let was_invalid = before.as_ref().is_some_and(|before| before.record.spec.is_err());
        let selected = before.as_ref().and_then(Entry::selector).cloned();
        let remembered = before.and_then(|before| before.in_force);
        let mut entry = Entry { record, in_force: None };
        let mut changed = false;
        match &entry.record.spec {
            Ok(spec) => {
                if was_invalid || remembered.as_ref() != Some(spec) {
                    inputs.push(Input::PolicySet { policy, spec: Box::new(spec.policy.clone()) });
                    changed = true;
                }
                entry.in_force = Some(spec.clone());
            }
            Err(_) => {
                if !was_invalid {
                    inputs.push(Input::PolicyInvalid { policy });
                }
                entry.in_force = remembered;
                changed = entry.selector() != selected.as_ref();
            }
        }
        self.entries.insert(policy, entry);
        changed
    }

    /// Forgets a policy; true if there was one.
    pub(super) fn gone(&mut self, name: &ObjectName, inputs: &mut Vec<Input>) -> bool {
        let Some(policy) = self.key(name) else { return false };
        self.entries.remove(&policy);
        inputs.push(Input::PolicyRemoved { policy });
        true
    }

    /// The policy that keeps a pod: the oldest of its namespace that selects it.
    pub(super) fn keeper(&self, pod: &PodRecord) -> Option<PolicyKey> {
        let selecting = self.entries.iter().filter(|(_, entry)| entry.selects(pod));
        selecting.min_by_key(|(_, entry)| entry.age()).map(|(&policy, _)| policy)
    }

    pub(super) fn selects(&self, policy: PolicyKey, pod: &PodRecord) -> bool {
        self.entries.get(&policy).is_some_and(|entry| entry.selects(pod))
    }

    pub(super) fn get(&self, policy: PolicyKey) -> Option<&PolicyRecord> {
        self.entries.get(&policy).map(|entry| &entry.record)
    }

    /// What each rule in force asks.
    pub(super) fn asks(&self, policy: PolicyKey) -> Option<&PerRule<Option<Ask>>> {
        self.in_force(policy).map(|spec| &spec.asks)
    }

    pub(super) fn in_force(&self, policy: PolicyKey) -> Option<&ParsedPolicy> {
        self.entries.get(&policy)?.in_force.as_deref()
    }

    pub(super) fn key(&self, name: &ObjectName) -> Option<PolicyKey> {
        self.entries.iter().find(|(_, entry)| entry.record.name == *name).map(|(&policy, _)| policy)
    }

    pub(super) fn replay(&self, inputs: &mut Vec<Input>) {
        for (&policy, entry) in &self.entries {
            if let Some(spec) = &entry.in_force {
                inputs.push(Input::PolicySet { policy, spec: Box::new(spec.policy.clone()) });
            }
            if entry.record.spec.is_err() {
                inputs.push(Input::PolicyInvalid { policy });
            }
        }
    }

    /// In the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = (PolicyKey, &PolicyRecord)> {
        self.entries.iter().map(|(&policy, entry)| (policy, &entry.record))
    }
}

impl Entry {
    fn selects(&self, pod: &PodRecord) -> bool {
        self.record.name.namespace == pod.name.namespace
            && self.selector().is_some_and(|selector| selector.matches(&pod.labels))
    }

    /// With no valid spec remembered, an invalid one still says which pods it is about.
    fn selector(&self) -> Option<&Selector> {
        match (&self.in_force, &self.record.spec) {
            (Some(spec), _) => Some(&spec.selector),
            (None, Ok(spec)) => Some(&spec.selector),
            (None, Err(problem)) => problem.selector.as_ref(),
        }
    }

    fn age(&self) -> impl Ord + use<'_> {
        (self.record.created, &self.record.name)
    }
}
