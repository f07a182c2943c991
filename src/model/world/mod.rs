//! The simulated replicas, and the engine's effects on them.

mod course;
mod sight;

use super::beats::{Beats, Heartbeat, Word};
use super::kubelet::{Kubelet, Next};
use super::network::Network;
use super::observer::{Attempt, Member, Moment, Observer, Standing, Turn};
use super::traffic::{Pool, RoundRobin};
use super::{Ejection, Restart, Run};
use crate::engine::{
    AttemptId, DependencyAttempt, Effect, EffectResult, Engine, Gate, Incarnation, Input, Mode, Outcome, OutcomeClass,
    PerRule, Policy, RuleKind, Span, Time,
};
use crate::scenario::{Condition, Endpoint, Opening, PerKind, Rotation, Scenario, Store, Stores, TrueState};

use course::Course;
use sight::{POLICY, key};

/// What lies between a turn's decisions and the first moment of a container that they restarted.
const INSTANT: Span = Span::from_nanos(1);

/// How a run goes through its turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Turn by turn and attempt by attempt, as whoever watches sees it.
    Stepping,
    /// From one turn in which something happens to the next; the engine skips the attempts in between.
    Skipping,
}

/// All that is simulated.
pub(super) struct World<'a, O> {
    scenario: &'a Scenario,
    policy: Policy,
    endpoints: PerRule<Option<Endpoint>>,
    /// Which store each dependency of the policy is.
    dependencies: Vec<Store>,
    /// None if replicas are restarted as new ones, by their owner; else it asks and restarts their containers.
    kubelet: Option<Kubelet>,
    observer: &'a mut O,
    pace: Pace,
    engine: Engine,
    course: Course<'a>,
    /// None if the policy hears none.
    beats: Option<Beats>,
    processes: Vec<Process>,
    /// Who stands where, by the same numbers. What is true of them is read before anybody asks, in every turn in which
    /// it may have changed.
    members: Vec<Member>,
    /// Read once a turn, before anybody asks.
    stores: Stores,
    /// To whom something has happened since attempts were last skipped.
    awake: Vec<usize>,
    /// None if requests know at once who is in the pool.
    network: Option<Network>,
    round_robin: RoundRobin,
    effects: Vec<Effect>,
    pool: Pool,
    pool_changed: bool,
    run: Run,
}

/// The process of a replica.
struct Process {
    opening: Opening,
    incarnation: Incarnation,
    is_awake: bool,
    /// The path to it is cut for whoever asks; read when its condition is.
    is_cut: bool,
}

impl<'a, O: Observer> World<'a, O> {
    /// A fleet that is warm, in the pool and through with startup, but for those who join later.
    pub(super) fn new(
        scenario: &'a Scenario,
        policy: Policy,
        endpoints: PerRule<Option<Endpoint>>,
        dependencies: Vec<Store>,
        kubelet: Option<Kubelet>,
        observer: &'a mut O,
        pace: Pace,
    ) -> Self {
        let numbers = 0..scenario.replicas();
        let members = numbers.clone().map(|replica| Member {
            condition: Condition::HEALTHY,
            standing: if scenario.joins(replica).is_some() { Standing::Absent } else { Standing::In },
        });
        let process =
            |_| Process { opening: Opening::Warm, incarnation: Incarnation(1), is_awake: false, is_cut: false };
        let beats = policy.heartbeat.map(|_| Beats::new(scenario, Heartbeat::of(scenario)));
        let mut world = Self {
            scenario,
            policy,
            endpoints,
            dependencies,
            kubelet,
            observer,
            pace,
            engine: Engine::with_room_for(scenario.replicas()),
            course: Course::new(scenario),
            beats,
            processes: numbers.clone().map(process).collect(),
            members: members.collect(),
            stores: Stores::UP,
            awake: Vec::with_capacity(scenario.replicas()),
            network: Network::of(scenario),
            round_robin: RoundRobin::new(scenario.rotation()),
            effects: Vec::with_capacity(2 * scenario.replicas()),
            pool: Pool::default(),
            pool_changed: true,
            run: Run { errors: Vec::with_capacity(scenario.turns() as usize), ..Run::default() },
        };
        world.introduce();
        world
    }

    /// Runs every turn.
    pub(super) fn run(mut self) -> Run {
        let mut turns = self.scenario.numbers();
        while !turns.is_empty() {
            let now = Moment { turn: turns.start, time: self.scenario.begin_of(turns.start) };
            self.turn(now);
            turns.start = match self.pace {
                Pace::Stepping => now.turn + 1,
                Pace::Skipping => self.skip(now).clamp(now.turn + 1, turns.end),
            };
            self.serve(now, turns.start - now.turn);
        }
        let is_stuck = |member: &&Member| member.condition.is(TrueState::Stuck);
        self.run.undetected += self.members.iter().filter(is_stuck).count() as u64;
        let end = Time::ZERO + self.scenario.length();
        self.run.loss = self.engine.capacity(POLICY, end).and_then(|capacity| capacity.loss);
        if self.policy.mode == Mode::Observe {
            let end = Time::ZERO + self.scenario.length();
            self.run.would_have = self.engine.report(POLICY, end).and_then(|report| report.would_have);
        }
        self.run
    }

    fn turn(&mut self, now: Moment) {
        if let Some(network) = &mut self.network {
            network.read_before(now.time, &self.members);
        }
        while let Some(replica) = self.course.opening(now.time) {
            if self.is_held(replica) {
                continue;
            }
            let Member { condition, standing } = self.members[replica];
            self.run.undetected += u64::from(condition.is(TrueState::Stuck));
            if standing == Standing::Absent {
                self.open(now, replica, Opening::Planned(now.time));
                self.show_owner(now.time);
            } else {
                self.reopen(now, replica, Opening::Planned(now.time));
            }
            self.show(now.time, replica, None);
            self.read(replica, now.time);
        }
        while let Some(replica) = self.course.change(now.time) {
            self.read(replica, now.time);
        }
        self.stores = self.scenario.stores(now.time);
        self.hear_beats(now.time);
        let mut restarted = self.decide(now);
        self.end_waits(now, &mut restarted);
        if !restarted.is_empty() {
            let reborn = Moment { time: now.time + INSTANT, ..now };
            for replica in restarted {
                self.show(reborn.time, replica, None);
                self.read(replica, now.time);
            }
            self.decide(reborn);
        }
    }

    /// Lets the engine hear who says that it is there, or that it goes.
    fn hear_beats(&mut self, now: Time) {
        let Some(mut beats) = self.beats.take() else { return };
        let mut words = Vec::new();
        beats.hear(now, self.members.len(), |replica| self.members[replica].condition, |word| words.push(word));
        for word in words {
            let (replica, input) = match word {
                Word::Beat(replica) => (replica, Input::Beat { replica: key(replica) }),
                Word::Leave(replica) => (replica, Input::Deregistered { replica: key(replica) }),
            };
            self.tell(now, input);
            self.wake(replica);
        }
        self.beats = Some(beats);
    }

    /// Has the engine skip the attempts that change nothing; returns the number of the turn in which something happens
    /// next, be it past the end.
    fn skip(&mut self, now: Moment) -> u32 {
        let end = Time::ZERO + self.scenario.length();
        let end = self.scenario.next_change_of_stores(now.time).map_or(end, |stores| stores.min(end));
        let end = self.beats.as_ref().and_then(|beats| beats.next(now.time)).map_or(end, |beat| beat.min(end));
        let end = self.kubelet.as_ref().and_then(Kubelet::next).map_or(end, |start| start.min(end));
        let mut awake = std::mem::take(&mut self.awake);
        for replica in awake.drain(..) {
            self.processes[replica].is_awake = false;
            let until = self.course.quiet_until(replica, now.time, end);
            let answers = PerRule::from_fn(|rule| {
                self.endpoints[rule].map_or(OutcomeClass::Passed, |endpoint| self.answer(replica, endpoint))
            });
            let skipped = self.engine.skip(key(replica), until, answers);
            for rule in RuleKind::ALL {
                self.run.attempts[rule] += skipped[rule];
            }
        }
        self.awake = awake;
        let next = [self.engine.next_poll(), self.course.next(now.time)].into_iter().flatten().fold(end, Time::min);
        let begun = self.scenario.turn_at(next);
        let turn = u32::try_from(begun).unwrap_or(u32::MAX);
        if self.scenario.begin_of(turn) < next { turn.saturating_add(1) } else { turn }
    }

    /// Polls the engine until it has nothing more to do at this instant; returns who was restarted.
    fn decide(&mut self, now: Moment) -> Vec<usize> {
        let mut restarted = Vec::new();
        loop {
            let mut effects = std::mem::take(&mut self.effects);
            self.engine.poll(now.time, &mut effects);
            for effect in effects.drain(..) {
                self.carry_out(effect, now, &mut restarted);
            }
            self.effects = effects;
            if self.engine.is_up_to_date() {
                return restarted;
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, now: Moment, restarted: &mut Vec<usize>) {
        let result = EffectResult::Applied;
        match effect {
            Effect::StartAttempt { attempt, .. } => self.attempt(attempt, now),
            Effect::AskDependency { attempt, .. } => self.ask_dependency(attempt, now.time),
            Effect::SetGate { replica, gate, .. } => {
                if let Some(gate) = gate {
                    self.set_gate(replica.index as usize, gate, now);
                }
                self.tell(now.time, Input::GateResult { replica, result });
            }
            Effect::RecordIntent { intent, .. } => self.tell(now.time, Input::IntentResult { intent, result }),
            Effect::Restart { policy, replica, .. } => {
                let index = replica.index as usize;
                self.count_restart(index, now);
                self.reopen(now, index, Opening::Restart(now.time));
                restarted.push(index);
                self.tell(now.time, Input::RestartResult { policy, replica, result });
            }
            Effect::Record(transition) => {
                let condition = self.members[transition.replica.index as usize].condition;
                self.observer.decided(now, &transition, condition);
            }
            Effect::RecordFleet(transition) => self.observer.fleet_decided(now, &transition),
            Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    fn attempt(&mut self, attempt: AttemptId, now: Moment) {
        let (replica, rule) = (attempt.replica.index as usize, attempt.rule);
        self.wake(replica);
        let Some(endpoint) = self.endpoints[rule] else { return };
        let condition = self.members[replica].condition;
        let class = self.answer(replica, endpoint);
        self.run.attempts[rule] += 1;
        self.observer.attempted(now, &Attempt { replica, rule, endpoint, outcome: class, condition });
        let outcome = Outcome { class, took: Span::ZERO };
        self.tell(now.time, Input::AttemptFinished { attempt, outcome });
    }

    fn ask_dependency(&mut self, attempt: DependencyAttempt, now: Time) {
        let mut asked = self.policy.dependencies.iter().zip(&self.dependencies);
        let is_up = asked.any(|(it, store)| it.name == attempt.dependency && self.stores.up(*store));
        let class = if is_up { OutcomeClass::Passed } else { OutcomeClass::BadStatus { status: 503 } };
        self.tell(now, Input::DependencyAnswered { attempt, outcome: Outcome { class, took: Span::ZERO } });
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
        let is_held = self.is_held(replica);
        let Member { condition, standing } = &mut self.members[replica];
        if (*standing, gate) == (Standing::In, Gate::Closed) {
            self.run.ejections.push(Ejection { replica, turn: now.turn, condition: *condition });
        }
        *standing = match gate {
            Gate::Open if !is_held => Standing::In,
            Gate::Open | Gate::Closed => Standing::Out,
        };
        self.pool_changed = true;
    }

    /// Opens a replica whose process has ended, unless the kubelet lets it wait.
    fn reopen(&mut self, now: Moment, replica: usize, opening: Opening) {
        match self.kubelet.as_mut().map_or(Next::Starts, |kubelet| kubelet.ends(replica, now.time)) {
            Next::Starts => self.open(now, replica, opening),
            Next::Waits => {
                self.members[replica].standing = Standing::Out;
                self.pool_changed = true;
            }
        }
    }

    /// Opens everybody whose wait is over.
    fn end_waits(&mut self, now: Moment, restarted: &mut Vec<usize>) {
        while let Some(replica) = self.kubelet.as_mut().and_then(|kubelet| kubelet.starts(now.time)) {
            self.open(now, replica, Opening::Restart(now.time));
            restarted.push(replica);
        }
    }

    /// Whether the kubelet lets a replica wait.
    fn is_held(&self, replica: usize) -> bool {
        self.kubelet.as_ref().is_some_and(|kubelet| kubelet.holds(replica))
    }

    fn open(&mut self, now: Moment, replica: usize, opening: Opening) {
        let process = &mut self.processes[replica];
        process.opening = opening;
        process.incarnation.0 += 1;
        self.members[replica].standing = if self.is_gated() { Standing::Out } else { Standing::In };
        self.pool_changed = true;
        self.observer.opened(now, replica, opening);
    }

    /// Sends the requests of a turn, and of those after it in which nothing happens.
    fn serve(&mut self, now: Moment, turns: u32) {
        if self.pool_changed {
            self.pool.count(&self.members);
            self.pool_changed = false;
        }
        self.run.turns += turns;
        self.run.out_of_pool += self.pool.out * u64::from(turns);
        self.run.serving += self.pool.healthy * u64::from(turns);
        let alike = match (self.scenario.rotation(), &self.network) {
            (Rotation::EachTurn, None) => turns,
            (Rotation::EachTurn, Some(_)) | (Rotation::Continuous, _) => 1,
        };
        for turn in (now.turn..now.turn + turns).step_by(alike as usize) {
            let now = Moment { turn, time: self.scenario.begin_of(turn) };
            let requests = self.scenario.requests(turn);
            self.pass_through(requests, now.time);
            let traffic = self.round_robin.send(requests, &self.pool, self.stores);
            let errors = u32::try_from(traffic.errors()).unwrap_or(u32::MAX);
            self.run.errors.extend(std::iter::repeat_n(errors, alike as usize));
            self.run.traffic.add(&traffic.times(alike));
            self.observer.passed(now, &Turn { replicas: &self.members, stores: self.stores, traffic: &traffic });
        }
    }

    /// Lets the network, if there is one, say to whom the requests go.
    fn pass_through(&mut self, requests: PerKind<u32>, now: Time) {
        if let Some(network) = &mut self.network {
            network.pass(now, &self.members);
            if requests != PerKind::default() {
                network.pool(now, &self.members, &mut self.pool.members);
            }
        }
    }

    /// Reads what is true of a replica.
    fn read(&mut self, replica: usize, now: Time) {
        let opening = self.processes[replica].opening;
        let there = || self.scenario.condition(replica, opening, now);
        self.members[replica].condition = if self.is_held(replica) { TrueState::Stopped.into() } else { there() };
        self.processes[replica].is_cut = self.kubelet.is_none() && self.scenario.is_cut(replica, now);
        self.pool_changed = true;
        self.course.read(replica, opening, now);
        self.wake(replica);
    }

    /// What an endpoint of a replica answers, as a prober would put it.
    fn answer(&self, replica: usize, endpoint: Endpoint) -> OutcomeClass {
        if self.processes[replica].is_cut {
            return OutcomeClass::ConnectTimeout;
        }
        answer(endpoint, self.members[replica].condition, self.stores)
    }

    fn wake(&mut self, replica: usize) {
        if !std::mem::replace(&mut self.processes[replica].is_awake, true) {
            self.awake.push(replica);
        }
    }

    pub(super) fn tell(&mut self, now: Time, input: Input) {
        self.engine.handle(now, input);
    }
}

/// What an endpoint answers that can be reached.
fn answer(endpoint: Endpoint, condition: Condition, stores: Stores) -> OutcomeClass {
    if endpoint.says_yes(condition, stores) {
        return OutcomeClass::Passed;
    }
    match condition.state() {
        TrueState::Stopped => OutcomeClass::Refused,
        TrueState::Stuck | TrueState::Silent => OutcomeClass::NoResponse,
        TrueState::Starting
        | TrueState::Warming
        | TrueState::DependencyLost
        | TrueState::HalfDown
        | TrueState::Healthy => OutcomeClass::BadStatus { status: 503 },
    }
}
