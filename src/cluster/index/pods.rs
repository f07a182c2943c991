//! One pod, and what the engine has been told of it.

use crate::api::{Ask, fnv1a};
use crate::cluster::records::{PodRecord, ResourceVersion, Uid};
use crate::cluster::target;
use crate::engine::{
    Container, Gate, GateSeen, Incarnation, Input, NodeKey, Observation, PerRule, Place, PolicyKey, Remembered,
    ReplicaKey, RuleKind, Slot, Target, TargetProblem,
};

#[derive(Debug)]
pub(super) struct Pod {
    pub(super) record: PodRecord,
    /// One for each container of the record; no two are ever equal within a pod.
    pub(super) incarnations: Box<[Incarnation]>,
    last_incarnation: u32,
    /// Given when the pod first matters to the engine, kept until it is gone.
    pub(super) replica: Option<ReplicaKey>,
    written: Option<Written>,
    told: Option<Box<Observation>>,
}

/// Our own write of the gate, until the watch has caught up with it.
#[derive(Debug)]
struct Written {
    version: ResourceVersion,
    gate: Option<Gate>,
}

impl Pod {
    pub(super) fn new(record: PodRecord) -> Self {
        let incarnations: Box<[_]> = (0..).map(Incarnation).zip(&record.containers).map(|(next, _)| next).collect();
        let last_incarnation = u32::try_from(incarnations.len()).unwrap_or(u32::MAX);
        Self { record, incarnations, last_incarnation, replica: None, written: None, told: None }
    }

    /// Takes in a later record of the same pod. A container's ID is kept while the status names none, and its
    /// incarnation grows when the status names another.
    pub(super) fn update(&mut self, mut record: PodRecord) {
        let places = record.containers.iter_mut().zip(&mut self.record.containers).zip(&mut self.incarnations);
        for ((new, old), incarnation) in places {
            if new.id.is_none() {
                new.id = old.id.take();
            } else if old.id.is_some() && old.id != new.id {
                *incarnation = Incarnation(self.last_incarnation);
                self.last_incarnation += 1;
            }
        }
        self.record = record;
        self.settle();
    }

    /// Our own write made `version` of the pod, with the gate so.
    pub(super) fn wrote(&mut self, version: ResourceVersion, gate: Option<Gate>) {
        self.written = Some(Written { version, gate });
        self.settle();
    }

    /// A record that is older than our own write shows the gate as it was before that write.
    fn settle(&mut self) {
        let Some(written) = &self.written else { return };
        if !self.record.resource_version.is_before(&written.version) {
            self.written = None;
        } else if let (Some(gate), GateSeen::Unset | GateSeen::Set(_)) = (written.gate, self.record.gate) {
            self.record.gate = GateSeen::Set(gate);
        }
    }

    /// Tells the engine of the pod, if what it was told is no longer so.
    pub(super) fn tell(&mut self, replica: ReplicaKey, seen: Observation, inputs: &mut Vec<Input>) {
        if self.told.as_deref() != Some(&seen) {
            self.told = Some(Box::new(seen.clone()));
            inputs.push(Input::ReplicaSeen { replica, seen: Box::new(seen) });
        }
    }

    pub(super) fn told(&self) -> Option<&Observation> {
        self.told.as_deref()
    }

    pub(super) fn policy(&self) -> Option<PolicyKey> {
        self.told()?.policy
    }

    /// What each rule would ask, by where the pod's containers are now.
    pub(super) fn targets(&self, asks: &PerRule<Option<Ask>>) -> PerRule<Option<Target>> {
        let target = |rule: RuleKind| asks[rule].as_ref().map(|ask| self.target(ask));
        PerRule {
            startup: target(RuleKind::Startup),
            liveness: target(RuleKind::Liveness),
            readiness: target(RuleKind::Readiness),
        }
    }

    /// A policy with a heartbeat rule keeps it, as the engine was told.
    pub(super) fn is_to_beat(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.heartbeat.is_some())
    }

    /// Which container the pod's beats speak for.
    pub(super) fn beating(&self, container: Option<&str>) -> Target {
        self.found(target::container(&self.record, container, None))
    }

    fn target(&self, ask: &Ask) -> Target {
        self.found(target::resolve(&self.record, ask).map(|place| place.container))
    }

    fn found(&self, at: Result<usize, TargetProblem>) -> Target {
        let at = match at {
            Ok(at) => at,
            Err(problem) => return Target::Unusable(problem),
        };
        let container = &self.record.containers[at];
        let verdict =
            self.record.verdict.as_deref().filter(|verdict| {
                verdict.container.is_some() && verdict.container.as_deref() == container.id.as_deref()
            });
        let remembered = verdict.map(|verdict| Remembered { started: verdict.started });
        Target::Container(Container { incarnation: self.incarnations[at], state: container.state, remembered })
    }

    /// The pod's place under its owner; `None` while it is not known: a DaemonSet's pod before it is scheduled.
    pub(super) fn place(&self, node: Option<NodeKey>) -> Option<Place> {
        match self.record.owner.as_ref().map(|owner| &*owner.kind) {
            Some("StatefulSet") => Some(self.ordinal().map_or(Place::Any, |n| Place::Fixed(Slot::Ordinal(n)))),
            Some("DaemonSet") => node.map(|node| Place::Fixed(Slot::Node(node))),
            Some(_) | None => Some(Place::Any),
        }
    }

    fn ordinal(&self) -> Option<u32> {
        self.record.name.name.rsplit_once('-')?.1.parse().ok()
    }
}

/// Spreads replicas evenly and alike in every run.
pub(super) fn spread(uid: &Uid) -> u64 {
    fnv1a(&uid.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::test_support::{FIRST, World, container, observed, pod, policy, web};
    use crate::engine::{ContainerState, TargetProblem};

    #[test]
    fn a_container_restarted_in_place_is_another_incarnation_and_only_then() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let declared = || pod("a").container("app").port("http", 8080, "TCP");
        let incarnation = |told: &[Input]| container(told).incarnation;
        let first = incarnation(&world.pod(declared()));
        let running = world.pod(declared().running("c1"));
        assert_eq!((incarnation(&running), world.index.container_id(FIRST, first)), (first, Some("c1")));
        let down = world.pod(declared().waiting(Some("c1"), "CrashLoopBackOff"));
        assert_eq!(
            container(&down),
            Container { incarnation: first, state: ContainerState::BackingOff, remembered: None }
        );
        world.pod(declared().waiting(None, "ContainerCreating"));
        let second = incarnation(&world.pod(declared().running("c2")));
        assert!(second > first);
        assert_eq!(world.index.container_id(FIRST, first), None);
        assert_eq!(world.index.container_id(FIRST, second), Some("c2"));
    }

    #[test]
    fn no_two_incarnations_of_a_pod_are_equal() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let both = |app: &str, proxy: &str| {
            pod("a").container("app").port("http", 1, "TCP").running(app).container("proxy").running(proxy)
        };
        world.pod(both("a1", "p1"));
        world.pod(both("a1", "p2"));
        world.pod(both("a2", "p2"));
        let ids = (0..4).map(|n| world.index.container_id(FIRST, Incarnation(n)));
        assert_eq!(ids.collect::<Vec<_>>(), [None, None, Some("p2"), Some("a2")]);
    }

    #[test]
    fn only_a_verdict_on_this_very_container_is_remembered() {
        for (verdict, remembered) in [("c1", Some(Remembered { started: true })), ("c0", None)] {
            let mut world = World::new();
            world.policy(policy("p", "00:00:00").record());
            assert_eq!(container(&world.pod(web("a").verdict(verdict, true))).remembered, remembered, "{verdict}");
        }
    }

    #[test]
    fn events_older_than_our_own_write_do_not_make_the_gate_look_unwritten() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let gate = |told: &[Input]| observed(told)[0].gate;
        let gated = || web("a").gated();
        assert_eq!(gate(&world.pod(gated().version("9"))), GateSeen::Unset);
        assert_eq!(gate(&world.wrote("12", Gate::Open)), GateSeen::Set(Gate::Open));
        assert_eq!(world.pod(gated().version("11")), []);
        assert_eq!(world.pod(gated().version("12").condition("probepolicy.dev/ready", "True")), []);
        let taken_back = world.pod(gated().version("13").condition("probepolicy.dev/ready", "False"));
        assert_eq!(gate(&taken_back), GateSeen::Set(Gate::Closed));
    }

    #[test]
    fn a_write_that_the_watch_has_overtaken_changes_nothing() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        world.pod(web("a").gated().version("13").condition("probepolicy.dev/ready", "False"));
        assert_eq!(world.wrote("12", Gate::Open), []);
    }

    #[test]
    fn a_replica_sits_where_its_owner_puts_it() {
        let node = Place::Fixed(Slot::Node(NodeKey(0)));
        for (kind, name, place) in [
            ("StatefulSet", "fake-3", Place::Fixed(Slot::Ordinal(3))),
            ("DaemonSet", "agent-x7k2p", node),
            ("ReplicaSet", "web-5f7d-3", Place::Any),
            ("Job", "once-1", Place::Any),
        ] {
            let mut world = World::new();
            world.policy(policy("p", "00:00:00").record());
            assert_eq!(observed(&world.pod(web(name).owned(kind, "owner")))[0].place, place, "{kind}");
        }
    }

    #[test]
    fn a_daemon_sets_pod_is_told_once_it_has_a_node() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        assert_eq!(world.pod(web("a").owned("DaemonSet", "agent").unscheduled()), []);
        assert_eq!(observed(&world.pod(web("a").owned("DaemonSet", "agent"))).len(), 1);
    }

    #[test]
    fn a_rule_that_cannot_be_asked_says_why() {
        let mut world = World::new();
        world.policy(policy("p", "00:00:00").record());
        let seen = observed(&world.pod(pod("a").container("app").running("c1")))[0].clone();
        assert_eq!(seen.targets.liveness, Some(Target::Unusable(TargetProblem::UnknownPort)));
        assert_eq!((seen.targets.startup, seen.targets.readiness), (None, None));
    }
}
