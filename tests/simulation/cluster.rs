//! What is so, whoever knows it: pods, their owners and nodes, the policy and its status.

use std::collections::{BTreeMap, BTreeSet};

use probe_policy::engine::{
    Container, ContainerState, DependencyName, EffectResult, Gate, GateSeen, Heartbeat, Incarnation, Input, Lifecycle,
    NodeKey, NodeState, Observation, OutcomeClass, Owner, OwnerKey, OwnerKind, PerRule, Place, Policy, PolicyKey,
    Question, Readiness, Refusal, Remembered, ReplicaKey, RevisionKey, RuleKind, SeatKey, SeatMemory, Slot, Span,
    Target, Time,
};

use super::ledger::Ledger;
use super::limits::Limits;
use super::random::Random;

/// The most replicas that the owners want at once.
pub const MOST: u32 = 7;
pub const NODES: u32 = 3;
/// How long what comes and goes is there, and how long it is gone.
const FLAPS: Span = Span::from_millis(700);
const OLD: OwnerKey = OwnerKey(0);
const NEW: OwnerKey = OwnerKey(1);

pub struct Cluster {
    /// By the index of their key.
    pub pods: BTreeMap<u32, Pod>,
    pub owners: BTreeMap<OwnerKey, Owner>,
    pub nodes: BTreeMap<NodeKey, NodeState>,
    pub object: Option<Object>,
    /// By how much the wall clock is ahead of the time that passes.
    pub ahead: Span,
    pub seating: Seating,
    /// What whoever leads may do in a second.
    pub limits: Limits,
    /// The node to which the path is cut.
    pub cut: Option<NodeKey>,
    /// The dependencies that fail.
    pub lost: BTreeSet<DependencyName>,
    /// What pods at ordinals are made from; those anywhere from their owner.
    pub template: RevisionKey,
    /// The restarts that were carried out, against the budget.
    pub ledger: Ledger,
    /// The last restart of each index that was carried out.
    pub restarted: BTreeMap<u32, Restarted>,
    /// When the last restart of each replica was decided, and how far ahead the clock was of whoever did.
    decided: BTreeMap<ReplicaKey, (Time, Span)>,
    pods_made: u32,
}

/// A restart that was carried out.
#[derive(Clone, Copy, Debug)]
pub struct Restarted {
    pub decided: Time,
    /// By how much the clock of whoever decided it was ahead.
    pub ahead: Span,
    /// Its owner has created it again.
    pub is_back: bool,
}

/// The policy as the API server holds it.
#[derive(Clone)]
pub struct Object {
    pub key: PolicyKey,
    pub spec: Policy,
    pub is_valid: bool,
    pub status: Status,
}

/// All that a new controller is told of the old one.
#[derive(Clone, Default)]
pub struct Status {
    /// Counts the writes.
    pub version: u64,
    pub seats: BTreeMap<SeatKey, SeatMemory>,
    /// The questions that somebody has passed.
    pub passed: PerRule<Option<Question>>,
    /// Somebody has beaten.
    pub beaten: bool,
    /// What was asked of the dependencies that have passed.
    pub dependencies: BTreeMap<DependencyName, Question>,
    /// When the restart budget is whole again.
    pub whole_at: Option<Time>,
}

/// Where the owners' replicas sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seating {
    /// At an ordinal.
    Ordinals(OwnerKind),
    /// Anywhere, under the old revision or the new one.
    Anywhere,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub key: ReplicaKey,
    pub owner: OwnerKey,
    pub place: Place,
    pub node: NodeKey,
    pub revision: RevisionKey,
    pub is_selected: bool,
    pub incarnation: Incarnation,
    pub state: ContainerState,
    pub lifecycle: Lifecycle,
    pub paused_until: Option<Time>,
    pub gate: GateSeen,
    /// What is written beside the gate.
    pub started: Option<Incarnation>,
    pub health: Health,
    /// From when on its startup rule would pass.
    pub serves_at: Time,
    pub created: Time,
    /// It says by itself that it is there.
    pub beats: bool,
    /// It was once found in order.
    pub has_passed: bool,
}

/// The true state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Healthy,
    Stuck,
    DependencyLost,
    /// Now it answers, and now it does not.
    ComesAndGoes,
    NeverStarts,
}

/// Something that a watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    Pod(u32),
    Owner(OwnerKey),
    Node(NodeKey),
    Policy,
}

impl Cluster {
    pub fn new(seating: Seating, limits: Limits, spec: Policy, now: Time, random: &mut Random) -> Self {
        let kind = match seating {
            Seating::Ordinals(kind) => kind,
            Seating::Anywhere => OwnerKind::Recreates,
        };
        let owner = |desired| Owner { kind, desired, first: 0 };
        let mut cluster = Self {
            pods: BTreeMap::new(),
            owners: BTreeMap::from([(OLD, owner(MOST - 1)), (NEW, owner(0))]),
            nodes: (0..NODES).map(|node| (NodeKey(node), NodeState::Ready)).collect(),
            object: Some(Object { key: PolicyKey(0), spec, is_valid: true, status: Status::default() }),
            ahead: Span::from_secs(100_000),
            seating,
            limits,
            cut: None,
            lost: BTreeSet::new(),
            template: RevisionKey(0),
            ledger: Ledger::default(),
            restarted: BTreeMap::new(),
            decided: BTreeMap::new(),
            pods_made: 0,
        };
        while cluster.create_one(now, random).is_some() {}
        cluster
    }

    pub fn wall(&self, now: Time) -> Time {
        now + self.ahead
    }

    pub fn pod(&self, key: ReplicaKey) -> Option<&Pod> {
        self.pods.get(&key.index).filter(|pod| pod.key == key)
    }

    pub fn pod_mut(&mut self, key: ReplicaKey) -> Option<&mut Pod> {
        self.pods.get_mut(&key.index).filter(|pod| pod.key == key)
    }

    /// What owners and kubelets do by themselves; says whose pods changed.
    pub fn live_on(&mut self, now: Time, random: &mut Random) -> Option<u32> {
        let ending = |pod: &Pod| pod.lifecycle == Lifecycle::Terminating;
        let ending: Vec<_> = self.pods.values().filter(|pod| ending(pod)).map(|pod| pod.key.index).collect();
        if !ending.is_empty() && random.one_in(2) {
            let index = random.pick(&ending);
            self.pods.remove(&index);
            return Some(index);
        }
        let down = |pod: &Pod| pod.lifecycle == Lifecycle::Live && !pod.runs();
        let down: Vec<_> = self.pods.values().filter(|pod| down(pod)).map(|pod| pod.key.index).collect();
        if !down.is_empty() && random.one_in(3) {
            let index = random.pick(&down);
            let wall = self.wall(now);
            self.pods.get_mut(&index)?.run_again(now, wall, random);
            return Some(index);
        }
        self.end_one().or_else(|| self.create_one(now, random))
    }

    /// Ends the last pod of an owner that has more than it wants.
    fn end_one(&mut self) -> Option<u32> {
        let (owner, _) = self.owners.iter().find(|(key, owner)| self.live(**key) > owner.desired)?;
        let live = |pod: &&mut Pod| pod.owner == *owner && pod.lifecycle == Lifecycle::Live;
        let pod = self.pods.values_mut().rev().find(live)?;
        pod.lifecycle = Lifecycle::Terminating;
        Some(pod.key.index)
    }

    fn create_one(&mut self, now: Time, random: &mut Random) -> Option<u32> {
        let (owner, wanted) = self.owners.iter().find(|(key, owner)| self.live(**key) < owner.desired)?;
        let indices = match self.seating {
            Seating::Ordinals(_) => 0..wanted.desired,
            Seating::Anywhere => 0..2 * MOST,
        };
        let index = indices.into_iter().find(|index| !self.pods.contains_key(index))?;
        let place = match self.seating {
            Seating::Ordinals(_) => Place::Fixed(Slot::Ordinal(index)),
            Seating::Anywhere => Place::Any,
        };
        let revision = match self.seating {
            Seating::Ordinals(_) => self.template,
            Seating::Anywhere => RevisionKey(owner.0),
        };
        self.pods_made += 1;
        let wall = self.wall(now);
        let mut pod = Pod {
            key: ReplicaKey { index, generation: self.pods_made },
            owner: *owner,
            place,
            node: NodeKey(index % NODES),
            revision,
            is_selected: true,
            incarnation: Incarnation(0),
            state: ContainerState::Down,
            lifecycle: Lifecycle::Live,
            paused_until: None,
            gate: if random.one_in(30) { GateSeen::Ungated } else { GateSeen::Unset },
            started: None,
            health: Health::Healthy,
            serves_at: now,
            created: whole_second(wall),
            beats: !random.one_in(6),
            has_passed: false,
        };
        pod.run_again(now, wall, random);
        self.pods.insert(index, pod);
        self.restarted.entry(index).and_modify(|past| past.is_back = true);
        Some(index)
    }

    fn live(&self, owner: OwnerKey) -> u32 {
        let live = |pod: &&Pod| pod.owner == owner && pod.lifecycle == Lifecycle::Live;
        self.pods.values().filter(live).count() as u32
    }

    /// What can change by a request.
    pub fn versions(&self) -> Vec<(ReplicaKey, GateSeen, Lifecycle)> {
        self.pods.values().map(|pod| (pod.key, pod.gate, pod.lifecycle)).collect()
    }

    /// Whose pods were changed by requests since.
    pub fn changed_since(&self, before: &[(ReplicaKey, GateSeen, Lifecycle)]) -> Vec<u32> {
        let pods = self.pods.values().zip(before);
        pods.filter(|(pod, before)| (pod.key, pod.gate, pod.lifecycle) != **before)
            .map(|(pod, _)| pod.key.index)
            .collect()
    }

    /// Writes a gate.
    pub fn set_gate(&mut self, replica: ReplicaKey, gate: Option<Gate>, started: Option<Incarnation>) -> EffectResult {
        let Some(pod) = self.pod_mut(replica) else { return EffectResult::Refused(Refusal::Changed) };
        pod.gate = gate.map_or(pod.gate, GateSeen::Set);
        pod.started = started;
        EffectResult::Applied
    }

    /// A leader decided a restart.
    pub fn decided(&mut self, replica: ReplicaKey, now: Time, ahead: Span) {
        self.decided.insert(replica, (now, ahead));
    }

    /// Evicts a pod.
    pub fn restart(&mut self, replica: ReplicaKey, now: Time) -> EffectResult {
        let (decided, ahead) = self.decided[&replica];
        let Some(pod) = self.pod_mut(replica) else { return EffectResult::Refused(Refusal::Changed) };
        if pod.lifecycle == Lifecycle::Live {
            pod.lifecycle = Lifecycle::Terminating;
            self.restarted.insert(replica.index, Restarted { decided, ahead, is_back: false });
            self.ledger.spend(decided, now);
        }
        EffectResult::Applied
    }
}

impl Pod {
    pub fn runs(&self) -> bool {
        matches!(self.state, ContainerState::Running { .. })
    }

    /// A new container in its place.
    pub fn run_again(&mut self, now: Time, wall: Time, random: &mut Random) {
        self.incarnation.0 += 1;
        self.state = ContainerState::Running { since: whole_second(wall) };
        self.serves_at = now + Span::from_millis(random.below(6_000));
        self.has_passed = false;
        self.health = match random.below(12) {
            0 => Health::NeverStarts,
            1 => Health::Stuck,
            _ => Health::Healthy,
        };
    }

    /// What a rule is answered.
    pub fn answer(&self, rule: RuleKind, now: Time) -> OutcomeClass {
        if !self.runs() {
            return OutcomeClass::Refused;
        }
        match (self.health, rule) {
            (Health::NeverStarts, _) => OutcomeClass::BadStatus { status: 503 },
            (_, RuleKind::Startup) if now < self.serves_at => OutcomeClass::BadStatus { status: 503 },
            _ if now < self.serves_at => OutcomeClass::Refused,
            (Health::Stuck, _) => OutcomeClass::NoResponse,
            (Health::ComesAndGoes, _) if (now.as_nanos() / FLAPS.as_nanos()).is_multiple_of(2) => {
                OutcomeClass::BadStatus { status: 500 }
            }
            (Health::DependencyLost, RuleKind::Readiness) => OutcomeClass::BadStatus { status: 500 },
            (Health::ComesAndGoes | Health::DependencyLost | Health::Healthy, _) => OutcomeClass::Passed,
        }
    }

    pub fn seen(
        &self,
        policy: Option<PolicyKey>,
        heartbeat: Option<Heartbeat>,
        remembered: Option<Remembered>,
    ) -> Input {
        let container = Container { incarnation: self.incarnation, state: self.state, remembered };
        let target = Some(Target::Container(container));
        let is_ready = self.runs() && self.gate == GateSeen::Set(Gate::Open);
        let seen = Observation {
            policy,
            owner: Some(self.owner),
            place: self.place,
            revision: Some(self.revision),
            node: Some(self.node),
            lifecycle: self.lifecycle,
            paused_until: self.paused_until,
            ready: if is_ready { Readiness::Ready } else { Readiness::NotReady },
            gate: self.gate,
            targets: PerRule { startup: target, liveness: target, readiness: target },
            heartbeat: heartbeat.and(target),
            spread: u64::from(self.key.generation),
            created: self.created,
        };
        Input::ReplicaSeen { replica: self.key, seen: Box::new(seen) }
    }
}

/// Kubernetes gives times in whole seconds.
fn whole_second(time: Time) -> Time {
    let second = Span::from_secs(1).as_nanos();
    Time::from_nanos(time.as_nanos() / second * second)
}
