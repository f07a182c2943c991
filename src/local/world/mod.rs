//! The loop: one task owns the engine and all that is known of the replicas.

mod notes;

use std::net::SocketAddr;
use std::num::NonZeroU16;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::keeper::{Change, News};
use super::replica::{OWNER, POLICY, Process, Replica, has_gates, name};
use super::run::{Counts, Restart, Run};
use super::{LocalError, Log, PacedPolicy};
use crate::engine::{
    AttemptId, DependencyAttempt, Effect, EffectResult, Engine, Gate, Incarnation, Input, Owner, OwnerKind, PerRule,
    Phase, Refusal, Remembered, ReplicaKey, Span, Time,
};
use crate::fake_app::load::{self, Fleet, Line, LoadError, Summary};
use crate::model::{Attempt, Moment, Observer, Traffic};
use crate::probe::{self, Attempts, Ended, Loopback, Target};
use crate::runtime::Clock;
use crate::scenario::{Condition, Opening, Scenario, TrueState};

/// Attempts come this part of a turn after its beginning, so that they see its faults as the model's do.
const ATTEMPTS_AT: u64 = 10;
/// The most attempts at once.
const MAX_ATTEMPTS: NonZeroU16 = NonZeroU16::MAX;

/// The world.
pub(super) struct World {
    scenario: Scenario,
    policy: PacedPolicy,
    edits: u32,
    replicas: Vec<Replica>,
    /// Where the shared stores are, if there are any.
    stores: Option<SocketAddr>,
    clock: Clock,
    /// t = 0.
    start: Time,
    engine: Engine,
    effects: Vec<Effect>,
    attempts: Attempts,
    pool: watch::Sender<Fleet>,
    pool_changed: bool,
    restarts: Vec<Restart>,
    counts: Counts,
    log: Log,
    /// The requests that the observer was not told of yet.
    untold: Traffic,
}

/// What the world hears of.
pub(super) struct Senses<'a> {
    /// Processes that come and go.
    pub news: UnboundedReceiver<News>,
    /// Policies that are in force from now on.
    pub edits: UnboundedReceiver<PacedPolicy>,
    /// What the load says.
    pub lines: UnboundedReceiver<Line>,
    /// The keepers, who only end if they fail.
    pub keepers: &'a mut JoinSet<Result<(), LocalError>>,
    /// The load, with whose end the world ends.
    pub load: JoinHandle<Result<Summary, LoadError>>,
}

impl World {
    /// A fleet that is warm, in the pool and through with startup, as the engine begins.
    pub fn new(
        scenario: Scenario,
        policy: PacedPolicy,
        replicas: Vec<Replica>,
        stores: Option<SocketAddr>,
        clock: Clock,
        start: Time,
    ) -> Self {
        let mut world = Self {
            scenario,
            policy,
            edits: 0,
            replicas,
            stores,
            clock,
            start,
            engine: Engine::new(),
            effects: Vec::new(),
            attempts: Attempts::new(MAX_ATTEMPTS),
            pool: watch::channel(Fleet::default()).0,
            pool_changed: true,
            restarts: Vec::new(),
            counts: Counts::default(),
            log: Log::default(),
            untold: Traffic::default(),
        };
        world.introduce();
        // Who takes the list down once does so before the first decision.
        world.pool.send_replace(world.fleet());
        world
    }

    /// The pool that the world believes in.
    pub fn pool(&self) -> watch::Receiver<Fleet> {
        self.pool.subscribe()
    }

    /// Runs until the load has ended, early if told to `stop`.
    pub async fn run(
        mut self,
        mut senses: Senses<'_>,
        observer: &mut dyn Observer,
        stop: &CancellationToken,
    ) -> Result<Run, LocalError> {
        let mut stopped = None;
        let summary = loop {
            self.decide(observer);
            let join = self.replicas.iter().filter_map(|replica| replica.joins).min();
            let join = join.map(|at| self.start + at.since(Time::ZERO));
            let due = self.engine.next_poll().into_iter().chain(join).min();
            tokio::select! {
                Some(news) = senses.news.recv() => self.hear(news, observer),
                ended = self.attempts.ended() => self.finish(ended, observer),
                Some(policy) = senses.edits.recv() => self.put_in_force(policy),
                Some(line) = senses.lines.recv() => self.note(&line, observer),
                Some(failed) = senses.keepers.join_next() => failed??,
                () = stop.cancelled(), if stopped.is_none() => stopped = Some(self.time()),
                summary = &mut senses.load => break summary??,
                () = self.clock.sleep_until(due) => {}
            }
            self.hear_what_waits(&mut senses, observer);
            self.let_join(observer);
        };
        while let Some(line) = senses.lines.recv().await {
            self.note(&line, observer);
        }
        // The load is told to stop too, and may have ended before this was heard of here.
        let stopped = stopped.or_else(|| stop.is_cancelled().then(|| self.time()));
        Ok(self.end(stopped, &summary))
    }

    /// Whatever is known at the same instant is decided over at once.
    fn hear_what_waits(&mut self, senses: &mut Senses<'_>, observer: &mut dyn Observer) {
        while let Ok(news) = senses.news.try_recv() {
            self.hear(news, observer);
        }
        while let Some(ended) = self.attempts.try_ended() {
            self.finish(ended, observer);
        }
    }

    /// Shows everybody who joins by now.
    fn let_join(&mut self, observer: &mut dyn Observer) {
        let now = self.clock.now();
        let moment = self.moment(now);
        let gate = if has_gates(&self.policy.policy) { Gate::Closed } else { Gate::Open };
        for index in 0..self.replicas.len() {
            let replica = &mut self.replicas[index];
            if replica.joins.is_some_and(|at| at <= moment.time) {
                replica.join(now, gate);
                observer.opened(moment, index, replica.opening);
                self.pool_changed = true;
                self.show_owner();
                self.show(index, None);
            }
        }
    }

    fn introduce(&mut self) {
        self.show_owner();
        self.tell_policy();
        let rules = PerRule { startup: true, liveness: true, readiness: true };
        self.tell(Input::PassedBefore { policy: POLICY, rules });
        for dependency in self.policy.policy.dependencies.iter().map(|dependency| dependency.name).collect::<Vec<_>>() {
            self.tell(Input::DependencyPassedBefore { policy: POLICY, dependency });
        }
        for replica in 0..self.replicas.len() {
            self.show(replica, Some(Remembered { started: true }));
        }
        self.tell(Input::Synced);
    }

    /// The owner wants as many replicas as have joined.
    fn show_owner(&mut self) {
        let there = self.replicas.iter().filter(|replica| replica.is_there()).count();
        let seen = Owner { kind: OwnerKind::Recreates, desired: u32::try_from(there).unwrap_or(u32::MAX), first: 0 };
        self.tell(Input::OwnerSeen { owner: OWNER, seen });
    }

    fn put_in_force(&mut self, policy: PacedPolicy) {
        self.policy = policy;
        self.edits += 1;
        self.tell_policy();
        if !has_gates(&self.policy.policy) {
            self.replicas.iter_mut().for_each(|replica| replica.gate = Gate::Open);
        }
        (0..self.replicas.len()).for_each(|replica| self.show(replica, None));
        self.pool_changed = true;
    }

    fn tell_policy(&mut self) {
        let late = Span::from_nanos(self.scenario.turn().as_nanos() / ATTEMPTS_AT);
        self.policy.policy.phase = Phase::Aligned { origin: self.start + late };
        self.policy.policy.generation = 1 + i64::from(self.edits);
        let spec = Box::new(self.policy.policy.clone());
        self.tell(Input::PolicySet { policy: POLICY, spec });
    }

    fn hear(&mut self, News { replica: index, change }: News, observer: &mut dyn Observer) {
        let now = self.clock.now();
        let (moment, opening) = (self.moment(now), Opening::Restart(self.time()));
        let was = self.condition(index, moment.time);
        let Some(replica) = self.replicas.get_mut(index) else { return };
        match change {
            Change::Ended => {
                if replica.process == Process::Ends {
                    let result = EffectResult::Applied;
                    let replica = replica.key();
                    self.engine.handle(now, Input::RestartResult { policy: POLICY, replica, result });
                } else {
                    self.counts.undetected += u64::from(was.is(TrueState::Stuck));
                }
                replica.process = Process::Gone;
            }
            Change::Listens(address) => {
                replica.opened(address, now, opening);
                observer.opened(moment, index, opening);
            }
        }
        self.pool_changed = true;
        self.show(index, None);
    }

    fn finish(&mut self, ended: Ended, observer: &mut dyn Observer) {
        let (attempt, outcome) = match ended {
            Ended::Replica { attempt, outcome, .. } => (attempt, outcome),
            Ended::Dependency { attempt, outcome } => return self.tell(Input::DependencyAnswered { attempt, outcome }),
        };
        let (replica, rule, now) = (attempt.replica.index as usize, attempt.rule, self.moment(self.clock.now()));
        if let Some(endpoint) = self.policy.endpoint(rule) {
            let condition = self.condition(replica, now.time);
            observer.attempted(now, &Attempt { replica, rule, endpoint, outcome: outcome.class, condition });
        }
        self.counts.attempts += 1;
        self.tell(Input::AttemptFinished { attempt, outcome });
    }

    /// What is true of a replica by the scenario, and by whether it has a process at all.
    fn condition(&self, replica: usize, now: Time) -> Condition {
        let Some(held) = self.replicas.get(replica) else { return Condition::HEALTHY };
        let condition = self.scenario.condition(replica, held.opening, now);
        if held.process == Process::Gone { condition.with(TrueState::Stopped) } else { condition }
    }

    /// Polls the engine until it has nothing more to do.
    fn decide(&mut self, observer: &mut dyn Observer) {
        let mut effects = std::mem::take(&mut self.effects);
        loop {
            let now = self.clock.now();
            self.engine.poll(now, &mut effects);
            if effects.is_empty() {
                break;
            }
            for effect in effects.drain(..) {
                self.carry_out(effect, now, observer);
            }
        }
        self.effects = effects;
        if std::mem::take(&mut self.pool_changed) {
            self.pool.send_replace(self.fleet());
        }
    }

    fn fleet(&self) -> Fleet {
        let there = self.replicas.iter().enumerate().filter(|(_, replica)| replica.is_there());
        let member = |(index, replica): (usize, &Replica)| load::Member {
            pod: name(index),
            address: replica.address.to_string(),
            ready: replica.is_in_pool(),
        };
        Fleet::new(there.map(member).collect())
    }

    fn carry_out(&mut self, effect: Effect, now: Time, observer: &mut dyn Observer) {
        let result = EffectResult::Applied;
        match effect {
            Effect::StartAttempt { attempt, policy, incarnation, deadline } => {
                let target = self.target(attempt, incarnation);
                self.attempts.start(target, attempt, policy, deadline.since(now));
            }
            Effect::AskDependency { attempt, deadline } => {
                let standing = self.standing_for(attempt);
                self.attempts.start_any(standing, attempt, deadline.since(now));
            }
            Effect::SetGate { replica, gate, .. } => {
                if let (Some(gate), Some(held)) = (gate, self.replicas.get_mut(replica.index as usize)) {
                    self.counts.ejections += u64::from(gate == Gate::Closed && held.serves());
                    held.gate = gate;
                    self.pool_changed = true;
                }
                self.tell(Input::GateResult { replica, result });
                self.show(replica.index as usize, None);
            }
            Effect::RecordIntent { intent, .. } => self.tell(Input::IntentResult { intent, result }),
            Effect::Restart { replica, incarnation, grace_period, .. } => {
                self.restart(replica, incarnation, grace_period);
            }
            Effect::Record(transition) => {
                let at = self.moment(transition.at);
                let condition = self.condition(transition.replica.index as usize, at.time);
                observer.decided(at, &transition, condition);
            }
            Effect::RecordFleet(transition) => observer.fleet_decided(self.moment(transition.at), &transition),
            Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    /// Tells the process to end; the answer comes when it has.
    fn restart(&mut self, key: ReplicaKey, incarnation: Incarnation, grace: Span) {
        let (index, at) = (key.index as usize, self.time());
        match self.replicas.get_mut(index).filter(|replica| replica.runs(incarnation)) {
            Some(replica) => {
                self.restarts.push(Restart { replica: index, opening: replica.opening, at });
                replica.restart(grace.into());
                self.pool_changed = true;
                self.show(index, None);
            }
            None => {
                let result = EffectResult::Refused(Refusal::Changed);
                self.tell(Input::RestartResult { policy: POLICY, replica: key, result });
            }
        }
    }

    /// Where an attempt goes, if the process is still the one it was decided for.
    fn target(&self, attempt: AttemptId, incarnation: Incarnation) -> Option<Target> {
        let replica = self.replicas.get(attempt.replica.index as usize)?;
        let ask = self.policy.asks[attempt.rule].as_ref().filter(|_| replica.runs(incarnation))?;
        Target::of(&ask.handler, replica.address, Loopback::Allowed)
    }

    /// Who stands for a dependency: the process of the stores.
    fn standing_for(&self, attempt: DependencyAttempt) -> probe::Standing {
        let ask = self.policy.canaries.iter().find(|ask| ask.name == attempt.dependency);
        let target = ask.zip(self.stores).and_then(|(ask, stores)| Target::of(&ask.handler, stores, Loopback::Allowed));
        target.map_or(probe::Standing::Unknown, |target| probe::Standing::Asked(vec![target]))
    }

    /// Shows the engine a replica as it is.
    fn show(&mut self, index: usize, remembered: Option<Remembered>) {
        let Some(replica) = self.replicas.get(index).filter(|replica| replica.is_there()) else { return };
        let seen = Box::new(replica.observation(&self.policy.policy, remembered));
        self.tell(Input::ReplicaSeen { replica: replica.key(), seen });
    }

    fn tell(&mut self, input: Input) {
        self.engine.handle(self.clock.now(), input);
    }

    /// The scenario's time.
    fn time(&self) -> Time {
        self.moment(self.clock.now()).time
    }

    /// What a point on the engine's line is in the scenario.
    fn moment(&self, at: Time) -> Moment {
        let time = Time::ZERO + at.since(self.start);
        Moment { turn: u32::try_from(self.scenario.turn_at(time)).unwrap_or(u32::MAX), time }
    }
}
