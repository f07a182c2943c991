//! What executors ask the index: the names behind the engine's keys, and where attempts go.

use std::collections::BTreeMap;

use super::Index;
use crate::api::{DependencyAsk, Handler, ParsedPolicy, SeatName};
use crate::cluster::records::{ObjectName, OwnerRecord, PodRecord, PolicyRecord};
use crate::cluster::target;
use crate::engine::{
    DependencyName, Incarnation, Lifecycle, NodeKey, OwnerKey, PolicyKey, Readiness, ReplicaKey, RevisionKey, RuleKind,
    SeatKey, Slot, TargetProblem,
};

/// So many pods of a dependency are asked in one attempt.
const ASKED_AT_ONCE: usize = 16;

/// Who stands for a dependency, and what is asked of them.
#[derive(Debug, PartialEq, Eq)]
pub struct DependencyTargets<'a> {
    /// The live pods that its selector selects.
    pub selected: usize,
    /// Of those with an address, the ones that are to be asked, and at which port.
    pub targets: Vec<(&'a PodRecord, u16)>,
    /// Why another of them cannot be asked.
    pub problem: Option<TargetProblem>,
    /// What.
    pub handler: &'a Handler,
}

/// Where an attempt goes, and what it asks there.
#[derive(Debug, PartialEq, Eq)]
pub struct AttemptTarget<'a> {
    /// Into which pod.
    pub pod: &'a PodRecord,
    /// The port, if the handler needs one.
    pub port: Option<u16>,
    /// The name of the container.
    pub container: &'a str,
    /// What.
    pub handler: &'a Handler,
}

impl Index {
    /// The pod behind a key, as long as it exists.
    pub fn pod(&self, replica: ReplicaKey) -> Option<&PodRecord> {
        self.replicas.get(replica).and_then(|name| self.pods.get(name)).map(|pod| &pod.record)
    }

    /// The ID of the container that is this incarnation; `None` once another has taken its place, and before the
    /// kubelet has named it.
    pub fn container_id(&self, replica: ReplicaKey, incarnation: Incarnation) -> Option<&str> {
        let pod = self.pods.get(self.replicas.get(replica)?)?;
        let at = pod.incarnations.iter().position(|&current| current == incarnation)?;
        pod.record.containers.get(at)?.id.as_deref()
    }

    /// Where an attempt of a rule goes now, and what it asks there; `None` if the pod has no such target.
    pub fn attempt_target(&self, replica: ReplicaKey, policy: PolicyKey, rule: RuleKind) -> Option<AttemptTarget<'_>> {
        let pod = self.pod(replica)?;
        let ask = self.policies.asks(policy)?[rule].as_ref()?;
        let (at, port) = target::resolve(pod, ask).ok()?;
        Some(AttemptTarget { pod, port, container: &pod.containers[at].name, handler: &ask.handler })
    }

    /// Who stands for a dependency of a policy now: live pods of its namespace, those that are Ready first. `None` if the
    /// policy in force lists no such dependency.
    pub fn dependency_targets(&self, policy: PolicyKey, name: DependencyName) -> Option<DependencyTargets<'_>> {
        let asks = &self.policies.in_force(policy)?.canaries;
        let DependencyAsk { selector, handler, .. } = asks.iter().find(|ask| ask.name == name)?;
        let port = handler.port()?;
        let pods = self.pods_in(&self.policies.get(policy)?.name.namespace);
        let is_selected = |pod: &&PodRecord| pod.lifecycle == Lifecycle::Live && selector.matches(&pod.labels);
        let mut found = DependencyTargets { selected: 0, targets: Vec::new(), problem: None, handler };
        for pod in pods.filter(is_selected) {
            found.selected += 1;
            match target::declared(pod, port) {
                Ok(port) if pod.ip.is_some() => found.targets.push((pod, port)),
                Ok(_) => {}
                Err(problem) => found.problem = Some(problem),
            }
        }
        found.targets.sort_by_key(|(pod, _)| pod.ready != Readiness::Ready);
        found.targets.truncate(ASKED_AT_ONCE);
        Some(found)
    }

    fn pods_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a PodRecord> {
        let pods = self.pods.range(ObjectName::new(namespace, "")..);
        pods.take_while(move |(name, _)| &*name.namespace == namespace).map(|(_, pod)| &pod.record)
    }

    /// A policy's object as last seen.
    pub fn policy(&self, policy: PolicyKey) -> Option<&PolicyRecord> {
        self.policies.get(policy)
    }

    /// The spec of a policy that is in force: the last one that made sense.
    pub fn in_force(&self, policy: PolicyKey) -> Option<&ParsedPolicy> {
        self.policies.in_force(policy)
    }

    /// Every policy's object, in the order of the keys.
    pub fn policies(&self) -> impl Iterator<Item = (PolicyKey, &PolicyRecord)> {
        self.policies.iter()
    }

    /// The pods that a policy selects but an older one keeps, by the policy that keeps them.
    pub fn lost(&self, policy: PolicyKey) -> BTreeMap<PolicyKey, Vec<ReplicaKey>> {
        let mut lost: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (replica, name) in self.replicas.iter() {
            if let Some(pod) = self.pods.get(name)
                && let Some(keeper) = pod.policy().filter(|&keeper| keeper != policy)
                && self.policies.selects(policy, &pod.record)
            {
                lost.entry(keeper).or_default().push(replica);
            }
        }
        lost
    }

    /// An owner as last seen, also after it is gone.
    pub fn owner(&self, owner: OwnerKey) -> Option<&OwnerRecord> {
        self.owners.get(owner)
    }

    /// A node's name.
    pub fn node(&self, node: NodeKey) -> Option<&str> {
        self.nodes.name(node)
    }

    /// A revision's name: the hash that its owner labels its pods with.
    pub fn revision(&self, revision: RevisionKey) -> Option<&str> {
        self.revisions.name(revision)
    }

    /// A seat's name in the status.
    pub fn seat_name(&self, seat: SeatKey) -> Option<SeatName> {
        match seat.slot {
            Slot::Ordinal(ordinal) => Some(SeatName::Ordinal(ordinal)),
            Slot::Node(node) => self.nodes.name(node).map(|name| SeatName::Node(name.to_owned())),
            Slot::Nth(n) => Some(SeatName::Nth(n)),
        }
    }

    /// A seat's name for people: `web-3`, `node-a`, `#2`.
    pub fn seat_label(&self, seat: SeatKey) -> Option<String> {
        match seat.slot {
            Slot::Ordinal(ordinal) => self.owner(seat.owner).map(|owner| format!("{}-{ordinal}", owner.name.name)),
            Slot::Node(node) => self.nodes.name(node).map(str::to_owned),
            Slot::Nth(n) => Some(format!("#{n}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::test_support::{FIRST, OLDEST, World, policy, web};

    #[test]
    fn an_attempt_goes_to_the_first_address_at_the_port_that_the_rule_means() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a"));
        let target = world.index.attempt_target(FIRST, OLDEST, RuleKind::Liveness).unwrap();
        assert_eq!((target.pod.ip.unwrap().to_string(), target.port), ("10.0.0.7".to_owned(), Some(8080)));
        assert_eq!(target.container, "app");
        assert!(matches!(target.handler, Handler::Http(get) if get.path() == "/live"));
        assert_eq!(world.index.attempt_target(FIRST, OLDEST, RuleKind::Readiness), None);
    }

    #[test]
    fn a_dependency_is_asked_of_its_pods_in_the_policys_namespace_those_that_are_ready_first() {
        let name = DependencyName::new("store").unwrap();
        let dependencies = |port: serde_json::Value| {
            let selector = json!({"matchLabels": {"role": "store"}});
            let store = json!({"name": "store", "selector": selector, "tcpSocket": {"port": port}});
            policy("p", "00:00:00").spec("fleet", json!({"dependencies": [store]})).record()
        };
        let mut world = World::new();
        world.policy(dependencies(json!("http")));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        assert_eq!((found.selected, found.targets.len(), found.problem), (0, 0, None));
        let store = |pod: &str| web(pod).label("app", "other").label("role", "store");
        world.pod(store("b"));
        world.pod(store("c").condition("Ready", "True"));
        world.pod(store("ended").deleted());
        world.pod(store("elsewhere").namespace("other"));
        world.pod(web("of-the-policy"));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        let asked: Vec<_> = found.targets.iter().map(|(pod, port)| (&*pod.name.name, *port)).collect();
        assert_eq!((found.selected, asked), (2, vec![("c", 8080), ("b", 8080)]));
        world.policy(dependencies(json!("postgres")));
        let found = world.index.dependency_targets(OLDEST, name).unwrap();
        assert_eq!((found.targets.len(), found.problem), (0, Some(TargetProblem::UnknownPort)));
    }

    #[test]
    fn seats_have_names_for_the_status_and_for_people() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("fake-3").owned("StatefulSet", "fake"));
        for (slot, name, label) in [
            (Slot::Ordinal(3), SeatName::Ordinal(3), "fake-3"),
            (Slot::Node(NodeKey(0)), SeatName::Node("node-a".to_owned()), "node-a"),
            (Slot::Nth(2), SeatName::Nth(2), "#2"),
        ] {
            let seat = SeatKey { owner: OwnerKey(0), slot };
            assert_eq!(world.index.seat_name(seat), Some(name));
            assert_eq!(world.index.seat_label(seat).as_deref(), Some(label));
        }
    }
}
