//! The simulated replicas, and the engine's effects on them.

use super::network::Network;
use super::observer::{Attempt, Member, Moment, Observer, Standing, Turn};
use super::traffic::RoundRobin;
use super::{Ejection, Restart, Run};
use crate::engine::{
    AttemptId, Container, ContainerState, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle,
    Observation, Outcome, OutcomeClass, Owner, OwnerKey, OwnerKind, PerRule, Place, Policy, PolicyKey, Readiness,
    Remembered, ReplicaKey, RuleKind, Slot, Span, Target, Time,
};
use crate::scenario::{Condition, Endpoint, Opening, PerKind, Scenario, Stores, TrueState};

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
/// What lies between a turn's decisions and the first moment of a container that they restarted.
const INSTANT: Span = Span::from_nanos(1);

/// All that is simulated.
pub(super) struct World<'a, O> {
    scenario: &'a Scenario,
    policy: Policy,
    endpoints: PerRule<Option<Endpoint>>,
    observer: &'a mut O,
    engine: Engine,
    processes: Vec<Process>,
    /// Who stands where, by the same numbers. What is true of them is read once a turn, before anybody asks.
    members: Vec<Member>,
    /// Read once a turn, before anybody asks.
    stores: Stores,
    /// Who is opened as planned and when, the latest first.
    openings: Vec<(Time, usize)>,
    /// None if requests know at once who is in the pool.
    network: Option<Network>,
    round_robin: RoundRobin,
    effects: Vec<Effect>,
    pool: Vec<Condition>,
    run: Run,
}

/// The process of a replica.
struct Process {
    opening: Opening,
    incarnation: Incarnation,
}

impl<'a, O: Observer> World<'a, O> {
    /// A fleet that is warm, in the pool and through with startup, but for those who join later.
    pub(super) fn new(
        scenario: &'a Scenario,
        policy: Policy,
        endpoints: PerRule<Option<Endpoint>>,
        observer: &'a mut O,
    ) -> Self {
        let numbers = 0..scenario.replicas();
        let members = numbers.clone().map(|replica| Member {
            condition: Condition::HEALTHY,
            standing: if scenario.joins(replica).is_some() { Standing::Absent } else { Standing::In },
        });
        let process = |_| Process { opening: Opening::Warm, incarnation: Incarnation(1) };
        let openings = numbers.clone().flat_map(|replica| {
            scenario.joins(replica).into_iter().chain(scenario.reopenings(replica)).map(move |time| (time, replica))
        });
        let mut openings: Vec<_> = openings.collect();
        openings.sort_unstable_by(|a, b| b.cmp(a));
        let mut world = Self {
            scenario,
            policy,
            endpoints,
            observer,
            engine: Engine::new(),
            processes: numbers.clone().map(process).collect(),
            members: members.collect(),
            stores: Stores::UP,
            openings,
            network: Network::of(scenario),
            round_robin: RoundRobin::new(scenario.rotation()),
            effects: Vec::new(),
            pool: Vec::new(),
            run: Run::default(),
        };
        world.introduce();
        world
    }

    /// Runs every turn.
    pub(super) fn run(mut self) -> Run {
        for turn in self.scenario.numbers() {
            self.turn(Moment { turn, time: self.scenario.begin_of(turn) });
        }
        let is_stuck = |member: &&Member| member.condition.is(TrueState::Stuck);
        self.run.undetected += self.members.iter().filter(is_stuck).count() as u64;
        self.run
    }

    fn introduce(&mut self) {
        let spec = Box::new(self.policy.clone());
        let passed = PerRule { startup: true, liveness: true, readiness: true };
        self.show_owner(Time::ZERO);
        self.tell(Time::ZERO, Input::PolicySet { policy: POLICY, spec });
        self.tell(Time::ZERO, Input::PassedBefore { policy: POLICY, rules: passed });
        for replica in 0..self.members.len() {
            if self.members[replica].standing != Standing::Absent {
                self.show(Time::ZERO, replica, Some(Remembered { started: true }));
            }
        }
        self.tell(Time::ZERO, Input::Synced);
    }

    fn turn(&mut self, now: Moment) {
        if let Some(network) = &mut self.network {
            network.read_before(now.time, &self.members);
        }
        while let Some((_, replica)) = self.openings.pop_if(|(at, _)| *at <= now.time) {
            let Member { condition, standing } = self.members[replica];
            let joins = standing == Standing::Absent;
            self.run.undetected += u64::from(condition.is(TrueState::Stuck));
            self.open(now, replica, Opening::Planned(now.time));
            if joins {
                self.show_owner(now.time);
            }
            self.show(now.time, replica, None);
        }
        self.stores = self.scenario.stores(now.time);
        for replica in 0..self.members.len() {
            self.members[replica].condition = self.condition(replica, now.time);
        }
        let restarted = self.decide(now);
        if !restarted.is_empty() {
            let reborn = Moment { time: now.time + INSTANT, ..now };
            for replica in restarted {
                self.show(reborn.time, replica, None);
                self.members[replica].condition = self.condition(replica, now.time);
            }
            self.decide(reborn);
        }
        self.serve(now);
    }

    /// Polls the engine until it has nothing more to do at this instant; returns who was restarted.
    fn decide(&mut self, now: Moment) -> Vec<usize> {
        let mut restarted = Vec::new();
        loop {
            let mut effects = std::mem::take(&mut self.effects);
            self.engine.poll(now.time, &mut effects);
            let idle = effects.is_empty();
            for effect in effects.drain(..) {
                self.carry_out(effect, now, &mut restarted);
            }
            self.effects = effects;
            if idle {
                return restarted;
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, now: Moment, restarted: &mut Vec<usize>) {
        let result = EffectResult::Applied;
        match effect {
            Effect::StartAttempt { attempt, .. } => self.attempt(attempt, now),
            Effect::SetGate { replica, gate, .. } => {
                if let Some(gate) = gate {
                    self.set_gate(replica.index as usize, gate, now);
                }
                self.tell(now.time, Input::GateResult { replica, result });
            }
            Effect::RecordIntent { replica, .. } => self.tell(now.time, Input::IntentResult { replica, result }),
            Effect::Restart { replica, .. } => {
                let index = replica.index as usize;
                self.count_restart(index, now);
                self.open(now, index, Opening::Restart(now.time));
                restarted.push(index);
                self.tell(now.time, Input::RestartResult { replica, result });
            }
            Effect::Record(transition) => {
                let condition = self.members[transition.replica.index as usize].condition;
                self.observer.decided(now, &transition, condition);
            }
            Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    fn attempt(&mut self, attempt: AttemptId, now: Moment) {
        let (replica, rule) = (attempt.replica.index as usize, attempt.rule);
        let Some(endpoint) = self.endpoints[rule] else { return };
        let condition = self.members[replica].condition;
        let class = answer(endpoint, condition, self.stores);
        self.run.attempts[rule] += 1;
        self.observer.attempted(now, &Attempt { replica, rule, endpoint, outcome: class, condition });
        let outcome = Outcome { class, took: Span::ZERO };
        self.tell(now.time, Input::AttemptFinished { attempt, outcome });
    }

    fn count_restart(&mut self, replica: usize, now: Moment) {
        let opening = self.processes[replica].opening;
        let turns_since =
            |at: Time| u32::try_from(now.time.since(at).as_nanos() / self.scenario.turn().as_nanos()).ok();
        self.run.restarts.push(Restart {
            replica,
            turn: now.turn,
            state: self.members[replica].condition.state(),
            since_stuck: self.scenario.stuck_since(replica, opening, now.time).and_then(turns_since),
        });
    }

    fn set_gate(&mut self, replica: usize, gate: Gate, now: Moment) {
        let Member { condition, standing } = &mut self.members[replica];
        if (*standing, gate) == (Standing::In, Gate::Closed) {
            self.run.ejections.push(Ejection { replica, turn: now.turn, condition: *condition });
        }
        *standing = match gate {
            Gate::Open => Standing::In,
            Gate::Closed => Standing::Out,
        };
    }

    fn open(&mut self, now: Moment, replica: usize, opening: Opening) {
        let process = &mut self.processes[replica];
        process.opening = opening;
        process.incarnation.0 += 1;
        self.members[replica].standing = if self.is_gated() { Standing::Out } else { Standing::In };
        self.observer.opened(now, replica, opening);
    }

    fn serve(&mut self, now: Moment) {
        self.pool.clear();
        let (mut out, mut healthy, mut can_read) = (0, 0, false);
        for Member { condition, standing } in &self.members {
            match standing {
                Standing::Absent => continue,
                Standing::Out => out += 1,
                Standing::In => self.pool.push(*condition),
            }
            healthy += u64::from(*condition == Condition::HEALTHY);
            can_read |= condition.can_read();
        }
        let requests = self.scenario.requests(now.turn);
        if let Some(network) = &mut self.network {
            network.pass(now.time, &self.members);
            if requests != PerKind::default() {
                network.pool(now.time, &self.members, &mut self.pool);
            }
        }
        let traffic = self.round_robin.send(requests, &self.pool, self.stores, can_read);
        self.run.turns += 1;
        self.run.out_of_pool += out;
        self.run.serving += healthy;
        self.run.errors.push(u32::try_from(traffic.errors()).unwrap_or(u32::MAX));
        self.run.traffic.add(&traffic);
        self.observer.passed(now, &Turn { replicas: &self.members, stores: self.stores, traffic: &traffic });
    }

    fn condition(&self, replica: usize, now: Time) -> Condition {
        self.scenario.condition(replica, self.processes[replica].opening, now)
    }

    fn is_gated(&self) -> bool {
        self.policy.rules.readiness.is_some()
    }

    /// Shows the engine who owns the replicas: whoever wants as many as have joined.
    fn show_owner(&mut self, now: Time) {
        let joined = self.members.iter().filter(|member| member.standing != Standing::Absent).count();
        let desired = u32::try_from(joined).unwrap_or(u32::MAX);
        let seen = Owner { kind: OwnerKind::Recreates, desired, first: 0 };
        self.tell(now, Input::OwnerSeen { owner: OWNER, seen });
    }

    /// Shows the engine a replica as it is.
    fn show(&mut self, now: Time, index: usize, remembered: Option<Remembered>) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let is_in = self.members[index].standing == Standing::In;
        let gate = if is_in { Gate::Open } else { Gate::Closed };
        let state = ContainerState::Running { since: now };
        let incarnation = self.processes[index].incarnation;
        let target = Target::Container(Container { incarnation, state, remembered });
        let mut targets = PerRule::default();
        for kind in RuleKind::ALL {
            targets[kind] = self.policy.rule(kind).map(|_| target);
        }
        let seen = Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(number)),
            node: None,
            lifecycle: Lifecycle::Live,
            ready: if is_in { Readiness::Ready } else { Readiness::NotReady },
            gate: if self.is_gated() { GateSeen::Set(gate) } else { GateSeen::Ungated },
            targets,
            spread: u64::from(number),
            created: Time::ZERO,
        };
        let replica = ReplicaKey { index: number, generation: 0 };
        self.tell(now, Input::ReplicaSeen { replica, seen: Box::new(seen) });
    }

    fn tell(&mut self, now: Time, input: Input) {
        self.engine.handle(now, input);
    }
}

/// What an endpoint answers, as a prober would put it.
fn answer(endpoint: Endpoint, condition: Condition, stores: Stores) -> OutcomeClass {
    match condition.state() {
        _ if endpoint.says_yes(condition, stores) => OutcomeClass::Passed,
        TrueState::Stopped => OutcomeClass::Refused,
        TrueState::Stuck | TrueState::Silent => OutcomeClass::NoResponse,
        TrueState::Starting
        | TrueState::Warming
        | TrueState::DependencyLost
        | TrueState::HalfDown
        | TrueState::Healthy => OutcomeClass::BadStatus { status: 503 },
    }
}
