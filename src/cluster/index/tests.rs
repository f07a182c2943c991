use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use serde_json::json;

use super::Index;
use crate::api::{Handler, SeatName};
use crate::cluster::records::{NodeRecord, OwnerRecord, PolicyRecord, ResourceVersion};
use crate::cluster::test_support::{PodBuilder, owner, pod, policy};
use crate::cluster::{Change, Scope, WatchEvent, WatchKind, time};
use crate::engine::{
    Container, ContainerState, Gate, GateSeen, Incarnation, Input, Intent, IntentStage, NodeKey, NodeState,
    Observation, OwnerKey, OwnerKind, PerRule, Place, PolicyKey, Readiness, Remembered, ReplicaKey, RuleKind, SeatKey,
    SeatMemory, Slot, Target, TargetProblem, Time,
};

const NOW: Time = Time::from_nanos(1);
const OLDEST: PolicyKey = PolicyKey(0);
const YOUNGER: PolicyKey = PolicyKey(1);
const FIRST: ReplicaKey = ReplicaKey { index: 0, generation: 0 };

#[test]
fn a_pod_that_no_policy_selects_and_without_our_gate_is_not_told() {
    let mut world = World::new();
    assert_eq!(world.pod(web("a")), []);
    assert_ne!(world.pod(web("b").gated()), []);
}

#[test]
fn a_policy_that_comes_later_finds_the_pods_that_were_there() {
    let mut world = World::new();
    world.pod(web("a"));
    world.pod(web("elsewhere").namespace("other"));
    world.pod(web("unlabelled").label("app", "other"));
    let told = world.policy(policy("p", "00:00:00").record());
    assert!(matches!(told[0], Input::PolicySet { policy: OLDEST, .. }));
    assert_eq!(observed(&told).iter().map(|seen| seen.policy).collect::<Vec<_>>(), [Some(OLDEST)]);
}

#[test]
fn nothing_is_told_twice() {
    let mut world = World::new();
    world.policy(policy("p", "00:00:00").record());
    world.pod(web("a"));
    assert_eq!(world.pod(web("a").version("2")), []);
    assert_eq!(world.policy(policy("p", "00:00:00").status(json!({"replicas": 1})).record()), []);
    assert_eq!(observed(&world.pod(web("a").condition("Ready", "True")))[0].ready, Readiness::Ready);
}

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

#[test]
fn what_a_new_list_does_not_contain_was_deleted_while_nobody_watched() {
    let mut world = World::new();
    world.policy(policy("p", "00:00:00").record());
    world.pod(web("a"));
    world.pod(web("b"));
    assert_eq!(world.apply(WatchEvent::Pods(Change::ListBegan)), []);
    assert_eq!(world.apply(WatchEvent::Pods(Change::Listed(web("b").record()))), []);
    assert_eq!(world.apply(WatchEvent::Pods(Change::ListEnded)), [Input::ReplicaGone { replica: FIRST }]);
}

#[test]
fn a_pod_made_again_under_its_name_is_another_replica() {
    let mut world = World::new();
    world.policy(policy("p", "00:00:00").record());
    world.pod(web("a"));
    let told = world.pod(web("a").uid("uid-again"));
    assert_eq!(told[0], Input::ReplicaGone { replica: FIRST });
    assert!(matches!(told[1], Input::ReplicaSeen { replica: ReplicaKey { index: 0, generation: 1 }, .. }));
    assert_eq!(world.index.pod(FIRST), None);
}

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
    assert_eq!(container(&down), Container { incarnation: first, state: ContainerState::BackingOff, remembered: None });
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
fn a_node_that_was_never_shown_is_not_ready_unless_nodes_cannot_be_read() {
    for (scope, state) in
        [(Scope::Cluster, NodeState::NotReady), (Scope::Namespace("shop".to_owned()), NodeState::Ready)]
    {
        let mut world = World { index: Index::new(&scope) };
        let told = world.pod(web("a").gated());
        assert_eq!(told[0], Input::NodeSeen { node: NodeKey(0), state });
    }
}

#[test]
fn a_node_is_told_when_its_state_changes_and_is_not_ready_once_gone() {
    let mut world = World::new();
    let node = |state| NodeRecord { name: "node-a".into(), state };
    let told = |state| vec![Input::NodeSeen { node: NodeKey(0), state }];
    world.pod(web("a").gated());
    assert_eq!(world.apply(WatchEvent::Nodes(Change::Applied(node(NodeState::Ready)))), told(NodeState::Ready));
    assert_eq!(world.apply(WatchEvent::Nodes(Change::Applied(node(NodeState::Ready)))), []);
    assert_eq!(world.apply(WatchEvent::Nodes(Change::Deleted(node(NodeState::Ready)))), told(NodeState::NotReady));
}

#[test]
fn an_attempt_goes_to_the_first_address_at_the_port_that_the_rule_means() {
    let mut world = World::new();
    world.policy(policy("p", "00:00:00").record());
    world.pod(web("a"));
    let (address, handler) = world.index.attempt_target(FIRST, OLDEST, RuleKind::Liveness).unwrap();
    assert_eq!(address.to_string(), "10.0.0.7:8080");
    assert!(matches!(handler, Handler::Http { path, .. } if path == "/live"));
    assert_eq!(world.index.attempt_target(FIRST, OLDEST, RuleKind::Readiness), None);
}

#[test]
fn a_rule_that_cannot_be_asked_says_why() {
    let mut world = World::new();
    world.policy(policy("p", "00:00:00").record());
    let seen = observed(&world.pod(pod("a").container("app").running("c1")))[0].clone();
    assert_eq!(seen.targets.liveness, Some(Target::Unusable(TargetProblem::UnknownPort)));
    assert_eq!((seen.targets.startup, seen.targets.readiness), (None, None));
}

#[test]
fn it_is_synced_once_every_list_is_complete() {
    let mut world = World::new();
    for kind in WatchKind::ALL {
        assert!(!world.index.is_synced(), "{}", kind.name());
        world.apply(match kind {
            WatchKind::Policies => WatchEvent::Policies(Change::ListEnded),
            WatchKind::Pods => WatchEvent::Pods(Change::ListEnded),
            WatchKind::Nodes => WatchEvent::Nodes(Change::ListEnded),
            WatchKind::ReplicaSets
            | WatchKind::StatefulSets
            | WatchKind::DaemonSets
            | WatchKind::ReplicationControllers => WatchEvent::Owners(kind, Change::ListEnded),
        });
    }
    assert!(world.index.is_synced());
}

#[test]
fn a_replay_tells_a_new_engine_what_the_old_one_knew() {
    let mut world = World::new();
    let mut told = world.owner(owner::<ReplicaSet>("web", json!({"spec": {"replicas": 1, "selector": {}}})));
    told.extend(world.policy(policy("p", "00:00:00").record()));
    told.extend(world.pod(web("a").owned("ReplicaSet", "web")));
    let replayed = world.replay();
    assert!(told.iter().all(|input| replayed.contains(input)), "{told:?} is not all in {replayed:?}");
    assert_eq!(replayed.last(), Some(&Input::Synced));
    assert_eq!(replayed.len(), told.len() + 1);
}

#[test]
fn seats_and_passed_rules_come_back_from_the_status() {
    let mut world = World::new();
    let intent = |pod: &str| json!({"pod": pod, "podUID": format!("uid-{pod}"), "rule": "liveness", "time": "2026-01-01T00:10:00.5Z"});
    let seat = |name: &str, pod: &str, last: &str| {
        json!({"name": name, "owner": "StatefulSet/fake", "ownerUID": "uid-fake", "podUID": format!("uid-{pod}"),
            "restarts": 2, "foreign": 1, "lastRestart": last, "intent": intent(pod)})
    };
    let asked = policy("p", "00:00:00").record().spec.unwrap().policy.rules.liveness.unwrap().question;
    let status = json!({
        "rules": [
            {"name": "liveness", "everPassed": true, "question": format!("{:016x}", asked.0)},
            {"name": "readiness", "everPassed": true, "question": "0000000000000001"},
        ],
        "seats": [
            seat("ordinal/3", "fake-3", "2026-01-01T00:05:00.000000Z"),
            seat("ordinal/4", "fake-4", "2026-01-01T00:10:00.750000Z"),
            {"name": "nth/0", "owner": "ReplicaSet/gone", "ownerUID": "uid-gone", "restarts": 1},
        ],
    });
    world.owner(owner::<StatefulSet>("fake", json!({"spec": {"serviceName": "", "selector": {}, "template": {}}})));
    world.policy(policy("p", "00:00:00").status(status).record());
    world.pod(web("fake-3").owned("StatefulSet", "fake"));
    world.pod(web("fake-4").owned("StatefulSet", "fake").deleted());
    let restored = world.index.restore(OLDEST);
    let at = time("2026-01-01T00:10:00.5Z".parse().unwrap());
    let intent = |replica, stage| Some(Intent { replica, rule: RuleKind::Liveness, at, stage });
    let seat = |ordinal, last: &str, occupant, stage| Input::SeatRestored {
        policy: OLDEST,
        seat: SeatKey { owner: OwnerKey(0), slot: Slot::Ordinal(ordinal) },
        memory: SeatMemory {
            restarts: 2,
            foreign: 1,
            last: Some(time(last.parse().unwrap())),
            intent: intent(occupant, stage),
            occupant,
        },
    };
    let rules = PerRule { startup: false, liveness: true, readiness: false };
    assert_eq!(
        restored,
        [
            Input::PassedBefore { policy: OLDEST, rules },
            seat(3, "2026-01-01T00:05:00Z", Some(FIRST), IntentStage::Ordered),
            seat(4, "2026-01-01T00:10:00.75Z", None, IntentStage::CarriedOut),
        ]
    );
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

struct World {
    index: Index,
}

impl World {
    fn new() -> Self {
        Self { index: Index::new(&Scope::Cluster) }
    }

    fn apply(&mut self, event: WatchEvent) -> Vec<Input> {
        self.index.apply(event, NOW)
    }

    fn pod(&mut self, pod: PodBuilder) -> Vec<Input> {
        self.apply(WatchEvent::Pods(Change::Applied(pod.record())))
    }

    fn policy(&mut self, policy: PolicyRecord) -> Vec<Input> {
        self.apply(WatchEvent::Policies(Change::Applied(policy)))
    }

    fn policy_list(&mut self, policies: impl IntoIterator<Item = PolicyRecord>) {
        self.apply(WatchEvent::Policies(Change::ListBegan));
        for policy in policies {
            self.apply(WatchEvent::Policies(Change::Listed(policy)));
        }
        self.apply(WatchEvent::Policies(Change::ListEnded));
    }

    fn owner(&mut self, owner: OwnerRecord) -> Vec<Input> {
        let watch = owner.watch.unwrap();
        self.apply(WatchEvent::Owners(watch, Change::Applied(owner)))
    }

    fn wrote(&mut self, version: &str, gate: Gate) -> Vec<Input> {
        self.index.wrote(FIRST, ResourceVersion(version.into()), Some(gate))
    }

    fn replay(&mut self) -> Vec<Input> {
        self.index.replay()
    }
}

/// A pod whose only container runs and declares the port that the builders' policies ask.
fn web(name: &str) -> PodBuilder {
    pod(name).container("app").port("http", 8080, "TCP").running("c1")
}

fn observed(told: &[Input]) -> Vec<&Observation> {
    let seen = told.iter().filter_map(|input| {
        let Input::ReplicaSeen { seen, .. } = input else { return None };
        Some(&**seen)
    });
    seen.collect()
}

/// The container of the liveness rule of the only replica told.
fn container(told: &[Input]) -> Container {
    match observed(told)[..] {
        [&Observation { targets: PerRule { liveness: Some(Target::Container(container)), .. }, .. }] => container,
        _ => panic!("not one container in {told:?}"),
    }
}
