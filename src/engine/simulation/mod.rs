//! A hostile world around the engine: answers are lost, late or refused, containers crash, replicas come and go,
//! policies are edited, and the engine is killed and succeeded by one that knows only what was written down. After
//! every step the invariants are checked. A failure prints the seed that repeats it.

mod invariants;
mod store;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::test_support::{OWNER, POLICY, policy};
use super::*;
use store::Store;

const SEEDS: u64 = 60;
const STEPS: u32 = 1_500;
const REPLICAS: u64 = 6;
/// The largest failure threshold.
const THRESHOLDS: u64 = 4;

const FLOOR: FloorSettings =
    FloorSettings { min_ready: Amount::Count(3), when_below: WhenBelow::Hold, cooldown: Span::from_secs(2) };
const HEARTBEAT: Heartbeat = Heartbeat { time_to_live: Span::from_secs(2) };
const GIVE_UP_AFTER: u32 = 2;
const BUDGET: BudgetSettings = BudgetSettings { restarts: NonZeroU32::new(3).unwrap(), per: Span::from_secs(60) };
/// Somebody has to wait now and then.
const WRITES: NonZeroU32 = NonZeroU32::new(3).unwrap();
/// The rules ask for about as much.
const CEILING: NonZeroU32 = NonZeroU32::new(14).unwrap();
const CHANGES: [OnPolicyChange; 3] = [OnPolicyChange::Keep, OnPolicyChange::Prepare, OnPolicyChange::Rolling];
const DWELL: DwellSettings = DwellSettings {
    least: Span::from_secs(1),
    ejection: EjectionBackoff {
        initial: Span::from_secs(2),
        max: Span::from_secs(6),
        decay_after: Span::from_secs(20),
    },
};
const BREAKER: BreakerSettings = BreakerSettings {
    open_at: Amount::Percent(50),
    min_judged: 2,
    cooldown: Span::from_secs(3),
    trial: Some(Span::from_secs(3)),
};

#[test]
fn no_order_of_events_breaks_an_invariant() {
    let (mut restarts, mut trials, mut given_up, mut held, mut rolled) = (0, 0, 0, 0, 0);
    let (mut missed, mut stretched, mut shared, mut spared) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        restarts += world.restarts;
        trials += world.trials;
        given_up += u32::from(world.has_given_up);
        held += u32::from(world.has_held);
        missed += u32::from(world.has_missed);
        stretched += u32::from(world.has_stretched);
        shared += world.shared;
        spared += u32::from(world.store.has_spared);
        rolled += u32::from(world.has_rolled);
    }
    assert!(restarts > SEEDS, "only {restarts} restarts: the simulation does not reach what it is about");
    assert!(2 * trials > SEEDS, "only {trials} trials");
    assert!(held > 5, "only {held} worlds in which the floor held somebody");
    assert!(missed > 5, "only {missed} worlds in which somebody was ejected for its silence");
    assert!(stretched > 5, "only {stretched} worlds in which periods were stretched");
    assert!(rolled > 5, "only {rolled} worlds in which a replica awaited its turn");
    assert!(spared > 5, "only {spared} worlds in which somebody was spared for the store");
    assert!(given_up > 5, "only {given_up} worlds in which a seat was given up");
    assert!(shared > SEEDS, "only {shared} restarts waited for a node or a revision");
    assert!(restarts > 2 * trials, "only {restarts} restarts, and {trials} of them trials");
}

#[test]
fn the_same_seed_gives_the_same_effects() {
    let trace = |seed| {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        world.trace
    };
    assert_eq!(trace(7), trace(7));
}

/// The pods, the API server and the clock.
struct World {
    seed: u64,
    random: u64,
    now: Time,
    engine: Engine,
    spec: Policy,
    pods: BTreeMap<u32, Pod>,
    /// The pods as they were when the effects were decided.
    decided_on: BTreeMap<u32, Pod>,
    next_generation: u32,
    in_flight: BTreeSet<AttemptId>,
    /// What the policy's status holds: all that a new engine is told of the old one.
    status: BTreeMap<SeatKey, SeatMemory>,
    /// When the restart budget is whole again, as the status has it.
    whole_at: Option<Time>,
    passed: PerRule<bool>,
    /// Somebody has beaten under the heartbeat rule.
    beaten: bool,
    /// What was sent from then until then may not have arrived, or not at this engine.
    deaf: std::ops::Range<Time>,
    store: Store,
    acknowledged: BTreeSet<ReplicaKey>,
    restarts: u64,
    /// When the restarts were carried out of a policy that has had a budget from its first.
    spent: Vec<Time>,
    /// Of those, trials of the breaker.
    trials: u64,
    has_given_up: bool,
    has_held: bool,
    has_missed: bool,
    has_stretched: bool,
    /// The node to which the path is cut.
    cut: Option<NodeKey>,
    /// Restarts that waited for what a node or a revision shares.
    shared: u64,
    /// Some replica has awaited its turn to pass what an edit asks.
    has_rolled: bool,
    trace: Vec<String>,
}

#[derive(Clone, Debug)]
struct Pod {
    key: ReplicaKey,
    ordinal: u32,
    incarnation: Incarnation,
    state: ContainerState,
    lifecycle: Lifecycle,
    paused_until: Option<Time>,
    gate: GateSeen,
    started: Option<Incarnation>,
    healthy: bool,
    /// It says that it is there.
    beats: bool,
    /// Since when its container says nothing of that kind.
    silent_since: Time,
    /// That container was silent for a time to live, or has said that it goes.
    was_silent: bool,
    /// The rules that this very container has failed.
    failed: PerRule<bool>,
    /// It was let into the pool after startup.
    admitted: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut spec = policy();
        spec.restart.max_concurrent = Amount::Count(2);
        spec.restart.deadline = Span::from_secs(40);
        spec.restart.give_up_after = NonZeroU32::new(GIVE_UP_AFTER);
        spec.fleet.breaker = Some(BREAKER);
        spec.fleet.shared_failure = SharedFailure::Hold;
        spec.floor = Some(FLOOR);
        spec.restart.budget = seed.is_multiple_of(3).then_some(BUDGET);
        spec.dependencies = (seed % 7 < 3).then(Store::listed).into_iter().collect();
        spec.dwell = (seed % 4 < 2).then_some(DWELL);
        let window = (seed % 5 < 2).then_some(FailureWindow { failures: 2, attempts: 4 });
        for rule in [&mut spec.rules.liveness, &mut spec.rules.readiness].into_iter().flatten() {
            rule.failure_window = window;
        }
        spec.on_policy_change = CHANGES[(seed / 2 % 3) as usize];
        spec.phase = if seed.is_multiple_of(2) { Phase::Spread } else { Phase::Aligned { origin: Time::ZERO } };
        let mut world = Self {
            seed,
            random: seed,
            now: Time::ZERO + Span::from_secs(1_000),
            engine: Engine::new(),
            spec,
            pods: BTreeMap::new(),
            decided_on: BTreeMap::new(),
            next_generation: 0,
            in_flight: BTreeSet::new(),
            status: BTreeMap::new(),
            whole_at: None,
            passed: PerRule::default(),
            beaten: false,
            deaf: Time::ZERO..Time::ZERO,
            store: Store::default(),
            acknowledged: BTreeSet::new(),
            restarts: 0,
            spent: Vec::new(),
            trials: 0,
            has_given_up: false,
            has_held: false,
            has_missed: false,
            has_stretched: false,
            cut: None,
            shared: 0,
            has_rolled: false,
            trace: Vec::new(),
        };
        for ordinal in 0..REPLICAS as u32 {
            world.create(ordinal);
        }
        world.succeed();
        world
    }

    fn step(&mut self) {
        match self.below(45) {
            0 => self.with_pod(|pod, _| pod.healthy = !pod.healthy),
            1 => self.with_pod(|pod, now| pod.run_again(now)),
            2 => self.with_pod(|pod, _| pod.state = ContainerState::Down),
            3 => self.delete_one(),
            4 => self.edit(),
            5 => self.succeed(),
            6 => self.pause_one(),
            7 => self.with_pod(|pod, _| pod.beats = !pod.beats),
            8 => self.deregister_one(),
            9 => self.freeze(),
            10 => self.cut = self.cut.is_none().then_some(NodeKey(self.below(2) as u32)),
            _ => self.now = self.now + Span::from_millis(self.below(900)),
        }
        self.recreate();
        self.poll();
        self.answer_attempts();
        self.answer_for_store();
        self.beat();
        self.poll();
        self.check();
    }

    fn poll(&mut self) {
        let mut effects = Vec::new();
        self.engine.poll(self.now, &mut effects);
        self.decided_on = self.pods.clone();
        self.check_floor(&effects);
        self.check_beats(&effects);
        self.check_store(&effects);
        for effect in effects {
            self.trace.push(format!("{:?} {effect:?}", self.now));
            self.carry_out(effect);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::StartAttempt { attempt, incarnation, .. } => {
                let pod = self.decided_on.values().find(|pod| pod.key == attempt.replica);
                let pod = pod.expect("an attempt at a replica that is gone");
                assert!(!self.is_paused(pod), "seed {}: an attempt at a paused pod", self.seed);
                assert_eq!(pod.incarnation, incarnation, "seed {}: an attempt at another container", self.seed);
                assert_eq!(pod.lifecycle, Lifecycle::Live, "seed {}: an attempt at a terminating pod", self.seed);
                self.in_flight.insert(attempt);
                let alike = self.in_flight.iter().filter(|other| other.rule == attempt.rule);
                let under_way = alike.filter(|other| other.replica == attempt.replica).count();
                assert!(under_way <= THRESHOLDS as usize, "seed {}: {under_way} attempts under way", self.seed);
            }
            Effect::AskDependency { attempt, .. } => self.ask_store(attempt),
            Effect::SetGate { replica, gate, verdict, reason } => {
                let result = self.fate();
                if let Some(pod) = self.pods.values_mut().find(|pod| pod.key == replica)
                    && result != EffectResult::Refused(Refusal::Failed)
                {
                    pod.gate = gate.map_or(pod.gate, GateSeen::Set);
                    pod.started = verdict.started;
                    pod.admitted |= gate == Some(Gate::Open) && pod.started == Some(pod.incarnation);
                    pod.admitted &= !matches!(reason, Reason::BelowFloor { .. } | Reason::Preparing { .. });
                }
                self.engine.handle(self.now, Input::GateResult { replica, result });
                self.show_all();
            }
            Effect::RecordIntent { replica, .. } => {
                let result = self.fate();
                if result != EffectResult::Refused(Refusal::Failed) {
                    self.write_status();
                }
                if result == EffectResult::Applied {
                    self.acknowledged.insert(replica);
                }
                self.engine.handle(self.now, Input::IntentResult { replica, result });
            }
            Effect::Restart { replica, rule, incarnation, .. } => {
                let seed = self.seed;
                assert!(self.acknowledged.remove(&replica), "seed {seed}: a restart without its intent");
                assert_eq!(self.spec.mode, Mode::Enforce, "seed {seed}: a restart while the policy observes");
                self.check_breaker(replica, rule);
                self.check_efficacy(replica);
                let result = self.fate();
                if let Some(pod) = self.pods.values_mut().find(|pod| pod.key == replica)
                    && result != EffectResult::Refused(Refusal::Failed)
                {
                    assert_eq!(pod.incarnation, incarnation, "seed {seed}: a restart of another container");
                    assert!(pod.failed.startup || pod.failed.liveness, "seed {seed}: a restart without evidence");
                    pod.lifecycle = Lifecycle::Terminating;
                    self.restarts += 1;
                    self.check_budget();
                }
                self.engine.handle(self.now, Input::RestartResult { replica, result });
                self.show_all();
            }
            Effect::Record(_) | Effect::RecordFleet(_) | Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    /// Answers most attempts that are under way, loses some, and answers some too late.
    fn answer_attempts(&mut self) {
        for attempt in std::mem::take(&mut self.in_flight) {
            let AttemptId { replica, rule, .. } = attempt;
            let Some(pod) = self.pods.values_mut().find(|pod| pod.key == replica) else { continue };
            let runs = matches!(pod.state, ContainerState::Running { .. });
            let class = match self.cut {
                Some(node) if node == pod.node() => OutcomeClass::ConnectTimeout,
                Some(_) | None if runs && pod.healthy => OutcomeClass::Passed,
                Some(_) | None => OutcomeClass::NoResponse,
            };
            pod.failed[rule] |= class.evidence() == Evidence::Fail;
            match self.below(12) {
                0 => {}
                1 => drop(self.in_flight.insert(attempt)),
                _ => {
                    self.passed[rule] |= class.evidence() == Evidence::Pass;
                    let outcome = Outcome { class, took: Span::ZERO };
                    self.engine.handle(self.now, Input::AttemptFinished { attempt, outcome });
                }
            }
        }
    }

    /// Those who say that they are there do so, though not all of it arrives.
    fn beat(&mut self) {
        for pod in self.pods.values_mut() {
            pod.was_silent |= self.now.since(pod.silent_since) >= HEARTBEAT.time_to_live;
        }
        for ordinal in self.pods.keys().copied().collect::<Vec<_>>() {
            if self.below(3) == 0 {
                continue;
            }
            let now = self.now;
            let Some(pod) = self.pods.get_mut(&ordinal).filter(|pod| pod.beats && pod.runs()) else { continue };
            pod.silent_since = now;
            self.beaten |= self.spec.heartbeat.is_some();
            self.engine.handle(now, Input::Beat { replica: pod.key });
        }
    }

    fn deregister_one(&mut self) {
        let ordinal = self.below(REPLICAS) as u32;
        if let Some(pod) = self.pods.get_mut(&ordinal) {
            (pod.beats, pod.was_silent) = (false, true);
            self.engine.handle(self.now, Input::Deregistered { replica: pod.key });
        }
    }

    /// The process stands still, and nothing of what is sent to it arrives.
    fn freeze(&mut self) {
        let from = self.now;
        self.now = from + Span::from_secs(2 + self.below(20));
        self.deaf = from..self.now;
        self.engine.handle(self.now, Input::Deaf { until: self.now });
    }

    /// The engine is killed; the next one knows what the API server holds.
    fn succeed(&mut self) {
        self.engine = Engine::new();
        if self.seed.is_multiple_of(3) {
            self.engine = std::mem::take(&mut self.engine).with_attempt_ceiling(CEILING);
        }
        if self.seed.is_multiple_of(2) {
            self.engine = std::mem::take(&mut self.engine).with_write_limit(WRITES);
        }
        self.in_flight.clear();
        self.store.forget();
        self.acknowledged.clear();
        let desired = REPLICAS as u32;
        let owner = Owner { kind: OwnerKind::Recreates, desired, first: 0 };
        self.engine.handle(self.now, Input::OwnerSeen { owner: OWNER, seen: owner });
        self.engine.handle(self.now, Input::PolicySet { policy: POLICY, spec: Box::new(self.spec.clone()) });
        self.engine.handle(self.now, Input::PassedBefore { policy: POLICY, rules: self.passed });
        if self.store.passed {
            let dependency = Store::listed().name;
            self.engine.handle(self.now, Input::DependencyPassedBefore { policy: POLICY, dependency });
        }
        if let Some(whole_at) = self.whole_at {
            self.engine.handle(self.now, Input::BudgetRestored { policy: POLICY, whole_at });
        }
        if self.beaten {
            self.engine.handle(self.now, Input::BeatBefore { policy: POLICY });
        }
        self.deaf = Time::ZERO..self.now;
        for (seat, memory) in self.status.clone() {
            let present = |key: &ReplicaKey| self.pod(*key).is_some_and(|pod| pod.lifecycle == Lifecycle::Live);
            let intent = memory.intent.map(|intent| Intent { replica: intent.replica.filter(present), ..intent });
            let memory = SeatMemory { intent, occupant: memory.occupant.filter(present), ..memory };
            self.engine.handle(self.now, Input::SeatRestored { policy: POLICY, seat, memory });
        }
        for pod in self.pods.values() {
            let remembered = (pod.started == Some(pod.incarnation)).then_some(Remembered { started: true });
            self.engine.handle(self.now, pod.seen(remembered));
        }
        self.engine.handle(self.now, Input::Synced);
    }

    fn write_status(&mut self) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        self.whole_at = report.budget.and_then(|budget| budget.whole_at);
        self.status = report.seats.iter().map(|seat| (seat.seat, seat.memory)).collect();
    }

    fn edit(&mut self) {
        match self.below(11) {
            7 => self.spec.paused_until = Some(self.now + Span::from_millis(self.below(5_000))),
            8 => {
                let hold = self.spec.fleet.shared_failure == SharedFailure::Ignore;
                self.spec.fleet.shared_failure = if hold { SharedFailure::Hold } else { SharedFailure::Ignore };
            }
            0 => self.spec.mode = Mode::Observe,
            1 => self.spec.mode = Mode::Enforce,
            2 => {
                let threshold = 1 + self.below(THRESHOLDS) as u32;
                let liveness = self.spec.rules.liveness.as_mut().unwrap();
                liveness.failure_threshold = NonZeroU32::new(threshold).unwrap();
            }
            3 => self.spec.fleet.breaker = (self.below(3) > 0).then_some(BREAKER),
            4 => {
                let when_below = [WhenBelow::Hold, WhenBelow::Open, WhenBelow::Close][self.below(3) as usize];
                self.spec.floor = (self.below(4) > 0).then_some(FloorSettings { when_below, ..FLOOR });
            }
            5 => {
                self.spec.heartbeat = self.spec.heartbeat.is_none().then_some(HEARTBEAT);
                self.beaten &= self.spec.heartbeat.is_some();
            }
            6 => {
                let fast = Span::from_millis(50 + 100 * self.below(8));
                for rule in [&mut self.spec.rules.liveness, &mut self.spec.rules.readiness].into_iter().flatten() {
                    rule.fast_period = rule.fast_period.is_none().then_some(fast);
                }
            }
            9 => {
                let question = Question(1 + self.below(2));
                let readiness = self.spec.rules.readiness.as_mut().unwrap();
                self.passed.readiness &= readiness.question == question;
                readiness.question = question;
            }
            _ => {
                let period = Span::from_millis(200 + 100 * self.below(20));
                self.spec.rules.readiness.as_mut().unwrap().period = period;
            }
        }
        self.engine.handle(self.now, Input::PolicySet { policy: POLICY, spec: Box::new(self.spec.clone()) });
    }

    fn with_pod(&mut self, change: impl FnOnce(&mut Pod, Time)) {
        let ordinal = self.below(REPLICAS) as u32;
        if let Some(pod) = self.pods.get_mut(&ordinal) {
            change(pod, self.now);
            self.engine.handle(self.now, pod.seen(None));
        }
    }

    fn delete_one(&mut self) {
        self.with_pod(|pod, _| pod.lifecycle = Lifecycle::Terminating);
    }

    /// Somebody pauses a pod, or thinks better of it.
    fn pause_one(&mut self) {
        let span = Span::from_millis(self.below(20_000));
        self.with_pod(|pod, now| pod.paused_until = pod.paused_until.is_none().then_some(now + span));
    }

    fn is_paused(&self, pod: &Pod) -> bool {
        self.spec.paused_until.max(pod.paused_until).is_some_and(|until| until > self.now)
    }

    /// The owner ends what terminates, and creates anew.
    fn recreate(&mut self) {
        if self.below(3) > 0 {
            return;
        }
        let terminating = |pod: &&Pod| pod.lifecycle == Lifecycle::Terminating;
        if let Some(pod) = self.pods.values().find(terminating).cloned() {
            self.engine.handle(self.now, Input::ReplicaGone { replica: pod.key });
            self.pods.remove(&pod.ordinal);
            self.create(pod.ordinal);
        }
    }

    fn create(&mut self, ordinal: u32) {
        self.next_generation += 1;
        let pod = Pod {
            key: ReplicaKey { index: ordinal, generation: self.next_generation },
            ordinal,
            incarnation: Incarnation(1),
            state: ContainerState::Running { since: self.now },
            lifecycle: Lifecycle::Live,
            paused_until: None,
            gate: GateSeen::Unset,
            started: None,
            healthy: self.below(4) > 0,
            beats: self.below(4) > 0,
            silent_since: self.now,
            was_silent: false,
            failed: PerRule::default(),
            admitted: false,
        };
        self.engine.handle(self.now, pod.seen(None));
        self.pods.insert(ordinal, pod);
    }

    fn show_all(&mut self) {
        for pod in self.pods.values() {
            self.engine.handle(self.now, pod.seen(None));
        }
    }

    fn pod(&self, key: ReplicaKey) -> Option<&Pod> {
        self.pods.values().find(|pod| pod.key == key)
    }

    /// How a write goes: mostly well, sometimes refused, sometimes done without an answer.
    fn fate(&mut self) -> EffectResult {
        match self.below(8) {
            0 => EffectResult::Refused(Refusal::Failed),
            1 => EffectResult::Unknown,
            _ => EffectResult::Applied,
        }
    }

    /// A number from 0 to `limit` - 1, by SplitMix64.
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

impl Pod {
    fn run_again(&mut self, now: Time) {
        self.incarnation.0 += 1;
        self.state = ContainerState::Running { since: now };
        (self.failed, self.admitted) = (PerRule::default(), false);
        (self.silent_since, self.was_silent) = (now, false);
    }

    fn runs(&self) -> bool {
        matches!(self.state, ContainerState::Running { .. })
    }

    fn node(&self) -> NodeKey {
        NodeKey(self.ordinal % 2)
    }

    fn seen(&self, remembered: Option<Remembered>) -> Input {
        let container = Container { incarnation: self.incarnation, state: self.state, remembered };
        let target = Some(Target::Container(container));
        let ready = match self.gate {
            GateSeen::Set(Gate::Open) => Readiness::Ready,
            GateSeen::Set(Gate::Closed) | GateSeen::Unset | GateSeen::Ungated => Readiness::NotReady,
        };
        let seen = Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(self.ordinal)),
            node: Some(self.node()),
            revision: Some(RevisionKey(self.key.generation % 2)),
            lifecycle: self.lifecycle,
            paused_until: self.paused_until,
            ready,
            gate: self.gate,
            targets: PerRule { startup: target, liveness: target, readiness: target },
            heartbeat: target,
            spread: u64::from(self.ordinal),
            created: Time::ZERO,
        };
        Input::ReplicaSeen { replica: self.key, seen: Box::new(seen) }
    }
}
