//! The policies, and which of them keeps a pod.

use std::collections::BTreeMap;

use super::PoolName;
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
        let is_invalid = record.spec.is_err();
        let mut in_force = record.spec.as_ref().ok().cloned().or_else(|| remembered.clone());
        if let Some(spec) = &mut in_force {
            spec.policy.paused_until = record.paused_until();
        }
        let is_news = in_force != remembered || (was_invalid && !is_invalid);
        if let Some(spec) = in_force.as_ref().filter(|_| is_news) {
            inputs.push(Input::PolicySet { policy, spec: Box::new(spec.policy.clone()) });
        }
        if is_invalid && !was_invalid {
            inputs.push(Input::PolicyInvalid { policy });
        }
        let entry = Entry { record, in_force };
        let changed = if is_invalid { entry.selector() != selected.as_ref() } else { is_news };
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

    /// The container that the heartbeat rule in force hears, if it names one; `None` if there is no such rule.
    pub(super) fn beating(&self, policy: PolicyKey) -> Option<Option<&str>> {
        let spec = self.in_force(policy)?;
        spec.policy.heartbeat.map(|_| spec.beating.as_deref())
    }

    /// The pool that the policy in force keeps, if it is told by slices.
    pub(super) fn pool(&self, policy: PolicyKey) -> Option<PoolName> {
        let entry = self.entries.get(&policy)?;
        let service = entry.in_force.as_ref()?.service.as_deref()?;
        Some(PoolName { policy: entry.record.name.clone(), service: service.into() })
    }

    /// The pool of some policy in force is told by slices.
    pub(super) fn have_slices(&self) -> bool {
        self.entries.values().any(|entry| entry.in_force.as_ref().is_some_and(|spec| spec.service.is_some()))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::test_support::{FIRST, OLDEST, World, YOUNGER, observed, policy, web};
    use crate::cluster::{Change, WatchEvent};

    #[test]
    fn the_oldest_policy_keeps_a_pod_and_the_others_can_say_to_whom_they_lost_it() {
        let mut world = World::new();
        let list = ["00:00:09", "00:00:01"].map(|time| policy(&format!("made-at-{}", &time[6..]), time).record());
        world.policy_list(list);
        let seen = observed(&world.pod(web("a")))[0].clone();
        assert_eq!(seen.policy, Some(OLDEST));
        assert_eq!(world.index.policy(OLDEST).map(|policy| &*policy.name.name), Some("made-at-01"));
        assert_eq!(world.index.lost(YOUNGER), [(OLDEST, vec![FIRST])].into());
        assert_eq!(world.index.lost(OLDEST), [].into());
    }

    #[test]
    fn of_two_policies_made_in_the_same_second_the_name_decides_whoever_came_first() {
        let mut world = World::new();
        world.policy(policy("b", "00:00:00").record());
        world.pod(web("a"));
        let told = world.policy(policy("a", "00:00:00").record());
        assert_eq!(observed(&told)[0].policy, Some(PolicyKey(1)));
    }

    #[test]
    fn when_the_oldest_policy_goes_the_next_one_keeps_its_pods() {
        let mut world = World::new();
        world.policy(policy("old", "00:00:00").record());
        world.policy(policy("new", "00:00:01").record());
        world.pod(web("a"));
        let told = world.apply(WatchEvent::Policies(Change::Deleted(policy("old", "00:00:00").record())));
        assert_eq!(told[0], Input::PolicyRemoved { policy: OLDEST });
        assert_eq!(observed(&told)[0].policy, Some(YOUNGER));
        let told = world.apply(WatchEvent::Policies(Change::Deleted(policy("new", "00:00:01").record())));
        assert_eq!(observed(&told)[0].policy, None);
    }

    #[test]
    fn an_edited_selector_moves_pods_and_a_pod_that_was_told_stays_told() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        let told = world.policy(policy("p", "00:00:00").selects("app", "other").record());
        assert_eq!(observed(&told)[0].policy, None);
    }

    #[test]
    fn a_policy_that_became_invalid_stays_in_force_as_it_was() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        let invalid = || policy("p", "00:00:00").spec("selector", json!({"matchLabels": {}}));
        assert_eq!(world.policy(invalid().record()), [Input::PolicyInvalid { policy: OLDEST }]);
        assert_eq!(world.policy(invalid().spec("mode", json!("Enforce")).record()), []);
        assert_eq!(world.replay().iter().filter(|input| matches!(input, Input::PolicySet { .. })).count(), 1);
        assert!(matches!(world.policy(policy("p", "00:00:00").record())[..], [Input::PolicySet { .. }]));
    }

    #[test]
    fn an_invalid_policy_with_nothing_remembered_still_keeps_the_pods_it_names() {
        let mut world = World::new();
        let told = world.policy(policy("p", "00:00:00").spec("liveness", json!({"period": "5s"})).record());
        assert_eq!(told, [Input::PolicyInvalid { policy: OLDEST }]);
        assert_eq!(observed(&world.pod(web("a")))[0].policy, Some(OLDEST));
    }

    #[test]
    fn an_object_that_cannot_be_read_is_an_invalid_policy_that_keeps_nothing() {
        let mut world = World::new();
        let told = world.policy(policy("p", "00:00:00").spec("unheardOf", json!(1)).record());
        assert_eq!(told, [Input::PolicyInvalid { policy: OLDEST }]);
        assert_eq!(world.pod(web("a")), []);
    }
}
