//! Pools against an API server that does as it is told, or refuses.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::Status;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cluster::records::{EndpointRecord, Family, PodRecord, ServiceRecord, SliceRecord};
use crate::cluster::{Change, Scope, WatchEvent};
use crate::controller::fixtures;
use crate::engine::{GateSeen, Input, Readiness};

const POLICY: &str = "
apiVersion: probepolicy.dev/v1alpha1
kind: ProbePolicy
metadata: {name: web, namespace: shop, uid: policy, resourceVersion: '1', generation: 1}
spec:
  selector: {matchLabels: {app: web}}
  mode: Enforce
  pool: {through: EndpointSlice, service: front}
";

#[test]
fn a_flip_of_one_pod_of_hundreds_writes_one_slice_of_each_family() {
    let mut world = World::with_pods(250);
    world.settle();
    let sizes: Vec<_> = world.ours().map(|(_, endpoints)| endpoints.len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 500);
    assert!(sizes.len() == 6 && sizes.iter().all(|size| *size <= 100), "{sizes:?}");
    world.decide(17, Gate::Closed);
    let orders = world.due().orders;
    let families: BTreeSet<_> = orders
        .iter()
        .map(|order| {
            let Order::Write(write) = order else { panic!("{order:?}") };
            write.group.family
        })
        .collect();
    assert_eq!((orders.len(), families), (2, [Family::V4, Family::V6].into()));
}

#[test]
fn a_decision_is_carried_out_once_its_slices_are_written_and_the_engine_sees_it() {
    let mut world = World::with_pods(1);
    let due = world.due();
    assert_eq!(due.answers, []);
    let told: Vec<_> = due.orders.iter().flat_map(|order| world.carry_out(order)).collect();
    let Some(Input::ReplicaSeen { seen, .. }) = told.last() else { panic!("{told:?}") };
    assert_eq!((seen.gate, seen.ready), (GateSeen::Set(Gate::Open), Readiness::Ready));
    assert_eq!(world.due().answers, [(world.replica(0), EffectResult::Applied)]);
}

#[test]
fn a_refused_write_is_the_decisions_answer_and_is_tried_again() {
    let mut world = World::with_pods(1);
    for order in world.due().orders {
        world.refuse(&order);
    }
    assert_eq!(world.due().answers, [(world.replica(0), EffectResult::Refused(Refusal::Forbidden))]);
    assert_eq!(world.due().orders, []);
    world.now = world.slices.next(world.now).unwrap();
    assert_eq!(world.due().orders.len(), 2);
}

#[test]
fn a_pod_that_is_being_ended_serves_and_is_not_ready_and_one_that_is_gone_is_in_no_slice() {
    let mut world = World::with_pods(2);
    world.settle();
    world.pod(1, json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    world.settle();
    let ending = |endpoints: Vec<EndpointRecord>| endpoints.into_iter().find(|endpoint| &*endpoint.pod == "web-1");
    let endpoint = world.ours().find_map(|(_, endpoints)| ending(endpoints)).unwrap();
    assert_eq!((endpoint.gate, endpoint.lifecycle), (Gate::Open, crate::engine::Lifecycle::Terminating));
    assert_eq!(endpoint.ready, Readiness::NotReady);
    world.pod_gone(1);
    world.settle();
    assert!(world.ours().all(|(_, endpoints)| endpoints.len() == 1));
}

#[test]
fn pods_whose_named_port_has_another_number_are_in_other_slices() {
    let mut world = World::with_pods(2);
    world
        .pod(1, json!({"spec": {"containers": [{"name": "app", "ports": [{"name": "http", "containerPort": 9090}]}]}}));
    world.settle();
    let ports: BTreeSet<_> = world.index.slices().filter_map(|it| Some(it.ours()?.group.ports[0].number)).collect();
    assert_eq!(ports, [8080, 9090].into());
}

#[test]
fn nothing_is_written_for_a_service_that_is_not_ours_to_serve() {
    let foreign = json!({
        "metadata": {"namespace": "shop", "name": "by-hand", "labels": {"kubernetes.io/service-name": "front"}},
        "addressType": "IPv4", "endpoints": [],
    });
    let foreign = SliceRecord::from(serde_json::from_value::<EndpointSlice>(foreign).unwrap());
    let by_hand = WatchEvent::EndpointSlices(Change::Applied(foreign));
    let gone = WatchEvent::Services(Change::Deleted(service(json!({}))));
    let selects = WatchEvent::Services(Change::Applied(service(json!({"selector": {"app": "web"}}))));
    for (event, unusable) in [(by_hand, "OthersSlice"), (gone, "NoService"), (selects, "HasSelector")] {
        let mut world = World::with_pods(1);
        world.apply(event);
        let due = world.due();
        assert_eq!(due.answers, [(world.replica(0), EffectResult::Refused(Refusal::Failed))], "{unusable}");
        assert_eq!(due.orders, []);
        assert_eq!(usable(&world.index, &pool()).unwrap_err().name(), unusable);
    }
}

#[test]
fn when_the_cluster_has_its_own_slices_of_the_service_ours_are_withdrawn() {
    let mut world = World::with_pods(1);
    world.settle();
    world.apply(WatchEvent::Services(Change::Applied(service(json!({"selector": {"app": "web"}})))));
    assert_eq!(world.due().orders, []);
    let theirs = json!({
        "metadata": {"namespace": "shop", "name": "front-x", "labels": {"kubernetes.io/service-name": "front"}},
        "addressType": "IPv4", "endpoints": [],
    });
    let theirs = SliceRecord::from(serde_json::from_value::<EndpointSlice>(theirs).unwrap());
    world.apply(WatchEvent::EndpointSlices(Change::Applied(theirs)));
    world.settle();
    assert_eq!(world.ours().count(), 0);
}

#[test]
fn when_nobody_keeps_a_pool_any_more_its_pods_are_let_in_after_30s_and_those_that_end_leave() {
    let mut world = World::with_pods(3);
    world.decide(0, Gate::Closed);
    world.settle();
    world.apply(WatchEvent::Policies(Change::Deleted(fixtures::record(POLICY))));
    world.pod_gone(2);
    world.settle();
    let stand = |world: &World| -> BTreeMap<String, Readiness> {
        world.ours().flat_map(|(_, endpoints)| endpoints).map(|it| (it.pod.to_string(), it.ready)).collect()
    };
    let before = [("web-0".to_owned(), Readiness::NotReady), ("web-1".to_owned(), Readiness::Ready)];
    assert_eq!(stand(&world), before.into());
    world.now = world.slices.next(world.now + PACE).unwrap();
    world.settle();
    assert!(stand(&world).values().all(|ready| *ready == Readiness::Ready), "{:?}", stand(&world));
    assert!(world.now >= Time::ZERO + RELEASE_AFTER);
}

#[test]
fn a_policy_of_another_name_takes_the_pods_of_the_same_service_over() {
    let mut world = World::with_pods(2);
    world.settle();
    world.apply(WatchEvent::Policies(Change::Deleted(fixtures::record(POLICY))));
    let renamed = POLICY.replace("name: web,", "name: renamed,").replace("uid: policy", "uid: renamed");
    world.apply(WatchEvent::Policies(Change::Applied(fixtures::record(&renamed))));
    world.settle();
    let listed = |world: &World| world.ours().map(|(_, endpoints)| endpoints.len()).sum::<usize>();
    assert_eq!(listed(&world), 4, "nobody leaves before it was decided of");

    let taken = PoolName { policy: ObjectName::new("shop", "renamed"), service: "front".into() };
    for n in 0..2 {
        let (replica, pod) = (world.replica(n), world.index.pod(world.replica(n)).unwrap().clone());
        world.slices.hold(&world.index, replica, taken.clone(), &pod, Gate::Closed, Leg::Done(EffectResult::Applied));
    }
    world.settle();
    assert_eq!(listed(&world), 4);
    assert!(world.index.slices().all(|slice| PoolName::of(slice).as_ref() == Some(&taken)));
}

#[test]
fn a_leader_that_begins_goes_on_with_the_slices_that_are_there() {
    let mut world = World::with_pods(120);
    world.settle();
    world.slices = Slices::default();
    world.index.replay();
    assert_eq!(world.due().orders, []);
}

#[test]
fn a_slice_that_somebody_deletes_is_made_again_and_one_that_somebody_takes_is_theirs() {
    let mut world = World::with_pods(1);
    world.settle();
    let slice = world.index.slices().next().unwrap().clone();
    world.apply(WatchEvent::EndpointSlices(Change::Deleted(slice)));
    world.settle();
    assert_eq!(world.ours().count(), 2);

    let slice = world.index.slices().next().unwrap().clone();
    let taken = SliceRecord { body: crate::cluster::records::SliceBody::Others(BTreeSet::new()), ..slice.clone() };
    world.apply(WatchEvent::EndpointSlices(Change::Applied(taken)));
    world.settle();
    assert_eq!(world.ours().count(), 2);
    assert_eq!(world.index.slice(&slice.name).unwrap().ours(), None);
}

#[derive(Clone, Debug)]
enum Step {
    Comes(u8),
    Goes(u8),
    Ends(u8),
    Decide(u8, Gate),
    Answer { refused: bool },
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = 0..12u8;
    let gate = prop_oneof![Just(Gate::Open), Just(Gate::Closed)];
    prop::collection::vec(
        prop_oneof![
            4 => who.clone().prop_map(Step::Comes),
            3 => who.clone().prop_map(Step::Goes),
            1 => who.clone().prop_map(Step::Ends),
            6 => (who, gate).prop_map(|(who, gate)| Step::Decide(who, gate)),
            6 => any::<bool>().prop_map(|refused| Step::Answer { refused }),
            1 => Just(Step::Restart),
        ],
        0..120,
    )
}

proptest! {
    /// Whatever comes, goes, is decided or refused: once every write has gone through, the slices are as was decided.
    #[test]
    fn in_the_end_every_pod_is_in_one_slice_of_each_family_as_it_was_decided(steps in steps()) {
        let mut world = World::with_pods(0);
        let mut decided: BTreeMap<u8, Gate> = BTreeMap::new();
        let mut there = BTreeSet::new();
        let mut open = Vec::new();
        for step in steps {
            world.now = world.now + Span::from_millis(40);
            match step {
                Step::Comes(who) if there.insert(who) => world.pod(who.into(), json!({})),
                Step::Goes(who) if there.remove(&who) => {
                    decided.remove(&who);
                    world.pod_gone(who.into());
                }
                Step::Ends(who) if there.contains(&who) => {
                    world.pod(who.into(), json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
                }
                Step::Decide(who, gate) if there.contains(&who) => {
                    decided.insert(who, gate);
                    world.decide(who.into(), gate);
                }
                Step::Answer { refused } => {
                    for order in std::mem::take(&mut open) {
                        if refused { world.refuse(&order) } else { drop(world.carry_out(&order)) }
                    }
                }
                // Writes that are under way may still go through.
                Step::Restart => {
                    for order in std::mem::take(&mut open) {
                        drop(world.carry_out(&order));
                    }
                    world.slices = Slices::default();
                    world.index.replay();
                    for (who, gate) in &decided {
                        world.decide((*who).into(), *gate);
                    }
                }
                Step::Comes(_) | Step::Goes(_) | Step::Ends(_) | Step::Decide(..) => {}
            }
            open.extend(world.due().orders);
            let slices: BTreeSet<_> = open.iter().map(Order::slice).collect();
            prop_assert_eq!(slices.len(), open.len(), "one write of a slice at a time");
        }
        open.iter().for_each(|order| drop(world.carry_out(order)));
        world.settle();
        for family in [Family::V4, Family::V6] {
            let of_family = world.ours().filter(|(of, _)| *of == family).flat_map(|(_, endpoints)| endpoints);
            let mut listed: Vec<_> = of_family.map(|it| (it.pod.to_string(), it.gate)).collect();
            listed.sort_unstable();
            let mut wanted: Vec<_> = decided.iter().map(|(who, gate)| (format!("web-{who}"), *gate)).collect();
            wanted.sort_unstable();
            prop_assert_eq!(listed, wanted);
        }
    }
}

/// The policy, the Service `front`, pods `web-0` and so on, and what became of them.
struct World {
    index: Index,
    slices: Slices,
    now: Time,
    version: u64,
    replicas: BTreeMap<usize, ReplicaKey>,
    /// How often a pod of that number is gone.
    gone: BTreeMap<usize, u32>,
}

impl World {
    /// With pods that are all let in.
    fn with_pods(count: usize) -> Self {
        let index = Index::new(&Scope::Cluster);
        let mut world = Self {
            index,
            slices: Slices::default(),
            now: Time::ZERO,
            version: 1,
            replicas: BTreeMap::new(),
            gone: BTreeMap::new(),
        };
        world.apply(WatchEvent::Policies(Change::Applied(fixtures::record(POLICY))));
        world.apply(WatchEvent::Services(Change::Applied(service(json!({})))));
        for n in 0..count {
            world.pod(n, json!({}));
            world.decide(n, Gate::Open);
        }
        world
    }

    fn apply(&mut self, event: WatchEvent) -> Vec<Input> {
        self.index.apply(event, self.now)
    }

    fn pod(&mut self, n: usize, changes: Value) {
        self.version += 1;
        let told = self.apply(WatchEvent::Pods(Change::Applied(self.record(n, changes))));
        for input in told {
            if let Input::ReplicaSeen { replica, .. } = input {
                self.replicas.insert(n, replica);
            }
        }
    }

    fn pod_gone(&mut self, n: usize) {
        self.apply(WatchEvent::Pods(Change::Deleted(self.record(n, json!({})))));
        *self.gone.entry(n).or_default() += 1;
    }

    fn record(&self, n: usize, changes: Value) -> PodRecord {
        pod(n, self.gone.get(&n).copied().unwrap_or(0), changes)
    }

    fn replica(&self, n: usize) -> ReplicaKey {
        self.replicas[&n]
    }

    /// The engine decides; the pod itself needs no write.
    fn decide(&mut self, n: usize, gate: Gate) {
        let replica = self.replica(n);
        let pod = self.index.pod(replica).unwrap().clone();
        self.slices.hold(&self.index, replica, pool(), &pod, gate, Leg::Done(EffectResult::Applied));
    }

    fn due(&mut self) -> Due {
        let touched = self.index.take_touched();
        self.slices.due(&self.index, touched, self.now)
    }

    fn carry_out(&mut self, order: &Order) -> Vec<Input> {
        self.version += 1;
        let told = match order {
            Order::Write(write) => self.index.wrote_slice(write.seen_at(self.version)),
            Order::Delete { slice, .. } => self.index.deleted_slice(slice),
        };
        self.slices.written(&self.index, order.slice(), Ok(()), self.now);
        told
    }

    fn refuse(&mut self, order: &Order) {
        let forbidden = Failure::Kube(kube::Error::Api(Status::failure("no", "Forbidden").with_code(403).boxed()));
        self.slices.written(&self.index, order.slice(), Err(&forbidden), self.now);
    }

    /// Until nothing is to be done any more but to let in those whom nobody keeps.
    fn settle(&mut self) {
        for _ in 0..100 {
            let orders = self.due().orders;
            if orders.is_empty() {
                match self.slices.next(self.now).filter(|at| Some(*at) != self.slices.next_release()) {
                    Some(at) => self.now = at,
                    None => return,
                }
            }
            orders.iter().for_each(|order| drop(self.carry_out(order)));
        }
        panic!("the slices do not settle");
    }

    fn ours(&self) -> impl Iterator<Item = (Family, Vec<EndpointRecord>)> {
        self.index.slices().filter_map(|slice| Some((slice.ours()?.group.family, slice.ours()?.endpoints.to_vec())))
    }
}

fn pool() -> PoolName {
    PoolName { policy: ObjectName::new("shop", "web"), service: "front".into() }
}

fn service(changes: Value) -> ServiceRecord {
    let mut service = json!({
        "metadata": {"namespace": "shop", "name": "front", "uid": "uid-front"},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}], "ipFamilies": ["IPv4", "IPv6"]},
    });
    merge(&mut service["spec"], changes);
    serde_json::from_value::<Service>(service).unwrap().into()
}

fn pod(n: usize, gone: u32, changes: Value) -> PodRecord {
    let mut pod = json!({
        "metadata": {"namespace": "shop", "name": format!("web-{n}"), "uid": format!("uid-{n}-{gone}"), "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "ports": [{"name": "http", "containerPort": 8080}]}], "nodeName": "a"},
        "status": {"podIPs": [{"ip": format!("10.0.{}.{}", n / 250, n % 250)}, {"ip": format!("fd00::{n:x}")}]},
    });
    merge(&mut pod, changes);
    serde_json::from_value::<Pod>(pod).unwrap().into()
}

fn merge(object: &mut Value, changes: Value) {
    match (object, changes) {
        (Value::Object(object), Value::Object(changes)) => {
            for (field, change) in changes {
                merge(object.entry(field).or_insert(Value::Null), change);
            }
        }
        (object, change) => *object = change,
    }
}
