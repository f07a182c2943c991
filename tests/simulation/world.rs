//! A hostile world: what happens to a cluster and to the controllers that look after it, step by step.

use probe_policy::engine::{
    ContainerState, DependencyName, Gate, GateSeen, Lifecycle, Mode, NodeKey, NodeState, OwnerKey, OwnerKind,
    PolicyKey, RevisionKey, Span, Time,
};

use super::cluster::{Cluster, Health, MOST, NODES, Object, Pod, Seating, Status, Thing};
use super::controller::{Around, Controller, Role};
use super::coverage::{Coverage, Fault, Recent};
use super::edits;
use super::limits::Limits;
use super::random::Random;
use super::reference::Word;

/// One world. It prints how to repeat it if it panics.
pub struct World {
    seed: u64,
    step: u64,
    random: Random,
    now: Time,
    cluster: Cluster,
    leader: Controller,
    /// One that led before and may not know yet that it does not any more.
    former: Option<Controller>,
    policies: u32,
    recent: Recent,
    pub coverage: Coverage,
    is_traced: bool,
}

impl World {
    pub fn new(seed: u64, is_traced: bool) -> Self {
        let mut random = Random::new(seed);
        let now = Time::ZERO + Span::from_secs(1_000);
        let seating = match random.below(4) {
            0 => Seating::Ordinals(OwnerKind::RecreatesInOrder),
            1 | 2 => Seating::Ordinals(OwnerKind::Recreates),
            _ => Seating::Anywhere,
        };
        let spec = edits::policy(&mut random);
        let cluster = Cluster::new(seating, Limits::of(seed), spec, now, &mut random);
        Self {
            seed,
            step: 0,
            random,
            now,
            leader: Controller::begin(&cluster, now, is_traced),
            former: None,
            cluster,
            policies: 1,
            recent: Recent::default(),
            coverage: Coverage::default(),
            is_traced,
        }
    }

    /// Lets something happen, and everybody act on it.
    pub fn step(&mut self) {
        if self.random.one_in(8) {
            self.fault();
        }
        self.pass_time();
        self.go_on();
    }

    /// Ends all faults, and panics unless everything comes to order: every gate stands open.
    pub fn end(&mut self) {
        self.heal();
        for _ in 0..200 {
            self.now = self.now + Span::from_secs(1);
            self.go_on();
            self.cure();
        }
        for pod in self.cluster.pods.values() {
            let is_open = matches!(pod.gate, GateSeen::Set(Gate::Open) | GateSeen::Ungated);
            assert!(is_open, "[left behind] a gate that is not open at the end: {pod:?}");
        }
        if let Some(report) = self.leader.report(self.now) {
            let held: Vec<_> = report.seats.iter().filter(|seat| seat.memory.intent.is_some()).collect();
            assert!(held.is_empty(), "[left behind] restarts in flight at the end: {held:?}");
        }
    }

    fn go_on(&mut self) {
        self.step += 1;
        self.coverage.steps += 1;
        if self.random.one_in(3)
            && let Some(index) = self.cluster.live_on(self.now, &mut self.random)
        {
            self.changed(Thing::Pod(index));
        }
        self.beat();
        let Self { cluster, random, coverage, recent, now, .. } = self;
        let mut around = Around { cluster, random, coverage, recent, now: *now };
        let before = around.cluster.versions();
        self.leader.turn(&mut around);
        if let Some(former) = &mut self.former {
            former.turn(&mut around);
        }
        for index in self.cluster.changed_since(&before) {
            self.changed(Thing::Pod(index));
        }
    }

    /// Those who say that they are there do so, though not all of it arrives.
    fn beat(&mut self) {
        if self.cluster.object.as_ref().is_none_or(|object| object.spec.heartbeat.is_none()) {
            return;
        }
        for pod in self.cluster.pods.values().filter(|pod| pod.beats && pod.runs()) {
            if !self.random.one_in(3) {
                self.leader.hear_by_itself(pod.key, Word::Beat, self.now);
            }
            if let Some(former) = self.former.as_mut().filter(|_| !self.random.one_in(3)) {
                former.hear_by_itself(pod.key, Word::Beat, self.now);
            }
        }
    }

    fn deregister(&mut self) -> bool {
        let indices: Vec<_> = self.cluster.pods.keys().copied().collect();
        if indices.is_empty() {
            return false;
        }
        let Some(pod) = self.cluster.pods.get_mut(&self.random.pick(&indices)) else { return false };
        pod.beats = false;
        let key = pod.key;
        self.leader.hear_by_itself(key, Word::Goes, self.now);
        if let Some(former) = &mut self.former {
            former.hear_by_itself(key, Word::Goes, self.now);
        }
        true
    }

    /// To where something is due, or anywhere before the next second is over.
    fn pass_time(&mut self) {
        let next = self.leader.next(self.now).filter(|_| self.random.one_in(2));
        let most = self.now + Span::from_secs(3);
        self.now = match next {
            Some(next) => next.max(self.now).min(most),
            None => self.now + Span::from_millis(self.random.below(900)),
        };
    }

    fn fault(&mut self) {
        // Most of what there is to see needs a replica that fails, and much a policy that is paused meanwhile.
        let fault = match self.random.below(16) {
            0..4 => Fault::Stuck,
            4 => Fault::PolicyPaused,
            _ => self.random.pick(&Fault::ALL).0,
        };
        if self.happens(fault) {
            self.recent.note(fault, self.now);
        }
    }

    /// Says whether it could happen.
    fn happens(&mut self, fault: Fault) -> bool {
        let now = self.now;
        let span = Span::from_millis(self.random.below(6_000));
        match fault {
            // They happen to every answer.
            Fault::AnswerLost | Fault::AnswerLate | Fault::ProberError => return false,
            Fault::WatchCut => self.leader.cut(now + span, now),
            Fault::Frozen => self.leader.freeze(now + span + span),
            Fault::Killed => drop(self.succeed()),
            Fault::Elected => {
                let mut former = self.succeed();
                former.role = Role::Fenced;
                self.former = Some(former);
            }
            Fault::ClockStepped => self.cluster.ahead = Span::from_secs(90_000 + self.random.below(20_000)),
            Fault::ContainerReplaced => {
                let wall = self.cluster.wall(now);
                return self.with_pod(|pod, random| pod.run_again(now, wall, random));
            }
            Fault::ContainerDown => return self.with_pod(|pod, _| pod.state = ContainerState::Down),
            Fault::CrashLoop => return self.with_pod(|pod, _| pod.state = ContainerState::BackingOff),
            Fault::PodDeleted => return self.with_pod(|pod, _| pod.lifecycle = Lifecycle::Terminating),
            Fault::PodPaused => {
                let until = now + span + span;
                return self.with_pod(|pod, _| pod.paused_until = pod.paused_until.is_none().then_some(until));
            }
            Fault::PolicyPaused => {
                let Some(object) = &mut self.cluster.object else { return false };
                object.spec.generation += 1;
                object.spec.paused_until = Some(now + span);
                self.changed(Thing::Policy);
            }
            Fault::BeatsStopped => return self.with_pod(|pod, _| pod.beats = !pod.beats),
            Fault::Deregistered => return self.deregister(),
            Fault::PathCut => {
                let node = NodeKey(self.random.below(u64::from(NODES)) as u32);
                self.cluster.cut = if self.cluster.cut.is_none() { Some(node) } else { None };
            }
            Fault::Unselected => return self.with_pod(|pod, _| pod.is_selected = !pod.is_selected),
            Fault::Stuck => return self.sicken(Health::Stuck),
            Fault::DependencyLost => return self.sicken(Health::DependencyLost),
            Fault::ComesAndGoes => return self.sicken(Health::ComesAndGoes),
            Fault::NeverStarts => return self.sicken(Health::NeverStarts),
            Fault::StoreLost => return self.lose_or_find(),
            Fault::OwnerScaled => self.scale(),
            Fault::RevisionRolled => return self.roll(),
            Fault::NodeNotReady => {
                let node = NodeKey(self.random.below(u64::from(NODES)) as u32);
                let state = if self.random.one_in(3) { NodeState::NotReady } else { NodeState::Ready };
                self.cluster.nodes.insert(node, state);
                self.changed(Thing::Node(node));
            }
            Fault::PolicyEdited => return self.edit(),
            Fault::PolicyBroken => return self.spoil(),
            Fault::PolicyDeleted => return self.delete_policy(),
        }
        true
    }

    /// The leader ends, and another begins with what it left.
    fn succeed(&mut self) -> Controller {
        let Self { cluster, random, coverage, recent, now, .. } = self;
        let mut around = Around { cluster, random, coverage, recent, now: *now };
        self.leader.flush(&mut around);
        let new = Controller::begin(&self.cluster, self.now, self.is_traced);
        self.former = None;
        std::mem::replace(&mut self.leader, new)
    }

    fn sicken(&mut self, health: Health) -> bool {
        // What is shared makes many sick at once.
        let now = self.now;
        if self.random.one_in(6) {
            let revision = RevisionKey(self.random.below(2) as u32);
            let everybody = self.random.one_in(2);
            for pod in self.cluster.pods.values_mut().filter(|pod| everybody || pod.revision == revision) {
                pod.health = health;
            }
            return true;
        }
        self.with_pod(|pod, random| {
            pod.health = if pod.health == Health::Healthy { health } else { Health::Healthy };
            pod.serves_at = pod.serves_at.min(now + Span::from_millis(random.below(100)));
        })
    }

    /// A dependency fails, and all who need it fail with it; or one comes back.
    fn lose_or_find(&mut self) -> bool {
        let Some(name) =
            edits::DEPENDENCIES.iter().filter_map(|name| DependencyName::new(name)).nth(self.random.below(2) as usize)
        else {
            return false;
        };
        let (from, to) = match self.cluster.lost.take(&name) {
            Some(_) => (Health::DependencyLost, Health::Healthy),
            None => {
                self.cluster.lost.insert(name);
                (Health::Healthy, Health::DependencyLost)
            }
        };
        for pod in self.cluster.pods.values_mut().filter(|pod| pod.health == from) {
            pod.health = if self.random.one_in(4) { from } else { to };
        }
        true
    }

    fn scale(&mut self) {
        let owner = OwnerKey(self.random.below(2) as u32);
        let kind = self.random.pick(&[OwnerKind::OnDelete, OwnerKind::Job, OwnerKind::Other]);
        let usual = match self.cluster.seating {
            Seating::Ordinals(kind) => kind,
            Seating::Anywhere => OwnerKind::Recreates,
        };
        let seating = self.cluster.seating;
        let is_odd = self.random.one_in(8);
        let desired = self.random.below(u64::from(MOST)) as u32;
        let Some(seen) = self.cluster.owners.get_mut(&owner) else { return };
        seen.kind = if is_odd { kind } else { usual };
        if owner == OwnerKey(0) || seating == Seating::Anywhere {
            seen.desired = desired.max(MOST / 2);
        }
        self.changed(Thing::Owner(owner));
    }

    /// One replica of the old revision is wanted less, and one of the new more, or the other way round.
    fn roll(&mut self) -> bool {
        if self.cluster.seating != Seating::Anywhere {
            // The pod is replaced by one of the new revision, at the same ordinal.
            self.cluster.template = RevisionKey(self.random.below(2) as u32);
            return self.with_pod(|pod, _| pod.lifecycle = Lifecycle::Terminating);
        }
        let (from, to) = self.random.pick(&[(OwnerKey(0), OwnerKey(1)), (OwnerKey(1), OwnerKey(0))]);
        for (owner, change) in [(from, -1), (to, 1)] {
            if let Some(seen) = self.cluster.owners.get_mut(&owner) {
                seen.desired = seen.desired.saturating_add_signed(change).min(MOST);
            }
            self.changed(Thing::Owner(owner));
        }
        true
    }

    fn edit(&mut self) -> bool {
        match &mut self.cluster.object {
            Some(object) => edits::edit(&mut object.spec, &mut self.random),
            None => self.create_policy(),
        }
        self.changed(Thing::Policy);
        true
    }

    fn spoil(&mut self) -> bool {
        let Some(object) = &mut self.cluster.object else { return false };
        object.is_valid = !object.is_valid;
        self.changed(Thing::Policy);
        true
    }

    fn delete_policy(&mut self) -> bool {
        // The status goes with it, so for most of the time there is to be one.
        if self.cluster.object.is_none() {
            self.create_policy();
        } else if self.random.one_in(2) {
            self.cluster.object = None;
            self.cluster.restarted.clear();
        } else {
            return false;
        }
        self.changed(Thing::Policy);
        true
    }

    fn create_policy(&mut self) {
        let key = PolicyKey(self.policies);
        self.policies += 1;
        let spec = edits::policy(&mut self.random);
        self.cluster.object = Some(Object { key, spec, is_valid: true, status: Status::default() });
    }

    /// No fault lasts beyond this.
    fn heal(&mut self) {
        self.leader.cut_until = self.now;
        self.leader.frozen_until = self.now;
        self.former = None;
        self.cluster.cut = None;
        self.cluster.lost.clear();
        for state in self.cluster.nodes.values_mut() {
            *state = NodeState::Ready;
        }
        let nodes: Vec<_> = self.cluster.nodes.keys().copied().collect();
        for node in nodes {
            self.changed(Thing::Node(node));
        }
        // Whatever becomes of the policy, nobody is to be left outside.
        match (self.random.below(3), &mut self.cluster.object) {
            (0, object) => *object = None,
            (choice, Some(object)) => {
                object.is_valid = true;
                edits::calm(&mut object.spec);
                object.spec.mode = if choice == 1 { Mode::Enforce } else { Mode::Observe };
            }
            (_, None) => {}
        }
        self.changed(Thing::Policy);
        for index in self.cluster.pods.keys().copied().collect::<Vec<_>>() {
            if let Some(pod) = self.cluster.pods.get_mut(&index) {
                pod.paused_until = None;
            }
            self.changed(Thing::Pod(index));
        }
        self.cure();
    }

    fn cure(&mut self) {
        for pod in self.cluster.pods.values_mut() {
            (pod.health, pod.beats) = (Health::Healthy, true);
        }
    }

    fn with_pod(&mut self, change: impl FnOnce(&mut Pod, &mut Random)) -> bool {
        let indices: Vec<_> = self.cluster.pods.keys().copied().collect();
        if indices.is_empty() {
            return false;
        }
        let index = self.random.pick(&indices);
        let Some(pod) = self.cluster.pods.get_mut(&index) else { return false };
        change(pod, &mut self.random);
        self.changed(Thing::Pod(index));
        true
    }

    fn changed(&mut self, thing: Thing) {
        let late = if self.random.one_in(4) { 3_000 } else { 50 };
        let at = self.now + Span::from_millis(self.random.below(late));
        self.leader.changed(thing, at);
        if let Some(former) = &mut self.former {
            former.changed(thing, at);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, step, .. } = self;
            eprintln!("caught in seed {seed} at step {step}; SIMULATION_SEED={seed} repeats it");
        }
    }
}
