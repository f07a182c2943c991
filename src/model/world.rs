//! The simulated replicas, and the engine's effects on them.

use super::traffic;
use super::{Restart, Run};
use crate::engine::{
    AttemptId, Container, ContainerState, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Lifecycle,
    Observation, Outcome, OutcomeClass, Owner, OwnerKey, OwnerKind, PerRule, Place, Policy, PolicyKey, Readiness,
    Remembered, ReplicaKey, RuleKind, Slot, Span, Target, Time,
};
use crate::scenario::{Condition, Endpoint, Opening, Scenario, Stores, TrueState};

const POLICY: PolicyKey = PolicyKey(0);
const OWNER: OwnerKey = OwnerKey(0);
/// What lies between a turn's decisions and the first moment of a container that they restarted.
const INSTANT: Span = Span::from_nanos(1);

/// All that is simulated.
pub(super) struct World<'a> {
    scenario: &'a Scenario,
    policy: Policy,
    endpoints: PerRule<Option<Endpoint>>,
    engine: Engine,
    replicas: Vec<Replica>,
    /// Read once a turn, before anybody asks.
    stores: Stores,
    /// Planned reopenings, the latest first.
    reopenings: Vec<(u32, usize)>,
    effects: Vec<Effect>,
    pool: Vec<TrueState>,
    run: Run,
}

/// One simulated replica.
struct Replica {
    opening: Opening,
    incarnation: Incarnation,
    gate: GateSeen,
    /// Read once a turn, before anybody asks.
    condition: Condition,
}

impl<'a> World<'a> {
    /// A fleet that is warm, in the pool and through with startup.
    pub(super) fn new(scenario: &'a Scenario, policy: Policy, endpoints: PerRule<Option<Endpoint>>) -> Self {
        let gate = match policy.rules.readiness {
            Some(_) => GateSeen::Set(Gate::Open),
            None => GateSeen::Ungated,
        };
        let replica =
            || Replica { opening: Opening::Warm, incarnation: Incarnation(1), gate, condition: Condition::HEALTHY };
        let replicas: Vec<_> = std::iter::repeat_with(replica).take(scenario.replicas()).collect();
        let in_turns = |time: Time| u32::try_from(scenario.turn_at(time)).unwrap_or(u32::MAX);
        let mut reopenings: Vec<_> = (0..replicas.len())
            .flat_map(|replica| scenario.reopenings(replica).map(move |time| (in_turns(time), replica)))
            .collect();
        reopenings.sort_unstable_by(|a, b| b.cmp(a));
        let mut world = Self {
            scenario,
            policy,
            endpoints,
            engine: Engine::new(),
            replicas,
            stores: Stores::UP,
            reopenings,
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
            self.turn(turn);
        }
        self.run
    }

    fn introduce(&mut self) {
        let desired = u32::try_from(self.replicas.len()).unwrap_or(u32::MAX);
        let owner = Owner { kind: OwnerKind::Recreates, desired, first: 0 };
        let spec = Box::new(self.policy.clone());
        let passed = PerRule { startup: true, liveness: true, readiness: true };
        self.tell(Time::ZERO, Input::OwnerSeen { owner: OWNER, seen: owner });
        self.tell(Time::ZERO, Input::PolicySet { policy: POLICY, spec });
        self.tell(Time::ZERO, Input::PassedBefore { policy: POLICY, rules: passed });
        for replica in 0..self.replicas.len() {
            self.show(Time::ZERO, replica, Some(Remembered { started: true }));
        }
        self.tell(Time::ZERO, Input::Synced);
    }

    fn turn(&mut self, turn: u32) {
        let now = self.scenario.begin_of(turn);
        while let Some((_, replica)) = self.reopenings.pop_if(|(at, _)| *at <= turn) {
            self.reopen(replica, Opening::Planned(now));
            self.show(now, replica, None);
        }
        self.stores = self.scenario.stores(now);
        for replica in 0..self.replicas.len() {
            self.replicas[replica].condition = self.condition(replica, now);
        }
        let restarted = self.decide(turn, now);
        for replica in &restarted {
            self.show(now + INSTANT, *replica, None);
            self.replicas[*replica].condition = self.condition(*replica, now);
        }
        if !restarted.is_empty() {
            self.decide(turn, now + INSTANT);
        }
        self.serve(turn);
    }

    /// Polls the engine until it has nothing more to do at this instant; returns who was restarted.
    fn decide(&mut self, turn: u32, now: Time) -> Vec<usize> {
        let mut restarted = Vec::new();
        loop {
            let mut effects = std::mem::take(&mut self.effects);
            self.engine.poll(now, &mut effects);
            let idle = effects.is_empty();
            for effect in effects.drain(..) {
                self.carry_out(effect, turn, now, &mut restarted);
            }
            self.effects = effects;
            if idle {
                return restarted;
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, turn: u32, now: Time, restarted: &mut Vec<usize>) {
        let result = EffectResult::Applied;
        match effect {
            Effect::StartAttempt { attempt, .. } => {
                let outcome = self.answer(attempt);
                self.tell(now, Input::AttemptFinished { attempt, outcome });
            }
            Effect::SetGate { replica, gate, .. } => {
                if let Some(gate) = gate {
                    self.replicas[replica.index as usize].gate = GateSeen::Set(gate);
                }
                self.tell(now, Input::GateResult { replica, result });
            }
            Effect::RecordIntent { replica, .. } => self.tell(now, Input::IntentResult { replica, result }),
            Effect::Restart { replica, .. } => {
                let index = replica.index as usize;
                self.count_restart(index, turn, now);
                self.reopen(index, Opening::Restart(now));
                restarted.push(index);
                self.tell(now, Input::RestartResult { replica, result });
            }
            Effect::Record(_) | Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    fn answer(&self, attempt: AttemptId) -> Outcome {
        let condition = self.replicas[attempt.replica.index as usize].condition;
        let yes = self.endpoints[attempt.rule].is_some_and(|endpoint| endpoint.says_yes(condition, self.stores));
        let class = match condition.state() {
            _ if yes => OutcomeClass::Passed,
            TrueState::Stuck | TrueState::Silent => OutcomeClass::NoResponse,
            TrueState::Stopped => OutcomeClass::Refused,
            TrueState::Starting
            | TrueState::Warming
            | TrueState::DependencyLost
            | TrueState::HalfDown
            | TrueState::Healthy => OutcomeClass::BadStatus { status: 503 },
        };
        Outcome { class, took: Span::ZERO }
    }

    fn count_restart(&mut self, replica: usize, turn: u32, now: Time) {
        let opening = self.replicas[replica].opening;
        let since = |at: Time| u32::try_from(now.since(at).as_nanos() / self.scenario.turn().as_nanos()).ok();
        self.run.restarts.push(Restart {
            replica,
            turn,
            state: self.replicas[replica].condition.state(),
            since_stuck: self.scenario.stuck_since(replica, opening, now).and_then(since),
        });
    }

    fn reopen(&mut self, replica: usize, opening: Opening) {
        let replica = &mut self.replicas[replica];
        replica.opening = opening;
        replica.incarnation.0 += 1;
        if replica.gate != GateSeen::Ungated {
            replica.gate = GateSeen::Set(Gate::Closed);
        }
    }

    fn serve(&mut self, turn: u32) {
        self.pool.clear();
        let members = self.replicas.iter().filter(|replica| replica.gate != GateSeen::Set(Gate::Closed));
        self.pool.extend(members.map(|replica| replica.condition.state()));
        let traffic = traffic::send(self.scenario.requests(turn).plain, &self.pool);
        let healthy = self.replicas.iter().filter(|replica| replica.condition == Condition::HEALTHY).count();
        self.run.turns += 1;
        self.run.serving += healthy as u64;
        self.run.errors.push(traffic.errors);
        self.run.early_errors += u64::from(traffic.early_errors);
    }

    fn condition(&self, replica: usize, now: Time) -> Condition {
        self.scenario.condition(replica, self.replicas[replica].opening, now)
    }

    /// Shows the engine a replica as it is.
    fn show(&mut self, now: Time, index: usize, remembered: Option<Remembered>) {
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let replica = &self.replicas[index];
        let state = ContainerState::Running { since: now };
        let target = Target::Container(Container { incarnation: replica.incarnation, state, remembered });
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
            ready: if replica.gate == GateSeen::Set(Gate::Closed) { Readiness::NotReady } else { Readiness::Ready },
            gate: replica.gate,
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
