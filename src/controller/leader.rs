//! What only the leader has: the engine, the attempts in flight, and the executors that carry its effects out.
//! Dropping it ends all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::runtime::events::Recorder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::answer::{self, Failure};
use super::elect::Permit;
use super::events::{Announcement, Announcer, Subject};
use super::gate::{GateCondition, GateWrite};
use super::metrics::Metrics;
use super::restart::Restart;
use super::slices::{Leg, Order, Slices};
use super::statuses::Statuses;
use super::targets;
use crate::api::VerdictAnnotation;
use crate::cluster::records::{ObjectName, PodRecord, ResourceVersion, SliceRecord, Uid};
use crate::cluster::{Index, Move, Touched};
use crate::engine::{
    Effect, EffectResult, Engine, FleetTransition, Gate, GateSeen, Input, IntentId, PolicyKey, Refusal, ReplicaKey,
    RuleKind, Time, Transition, TransitionKind, Verdict,
};
use crate::probe::{Attempts, Commands, Ended};
use crate::runtime::timestamp;

/// What the executors need.
#[derive(Clone)]
pub struct Tools {
    /// The client whose refusals come back at once.
    pub actor: Client,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How commands are run in containers.
    pub commands: Commands,
    /// The most attempts at once.
    pub max_attempts: NonZeroU16,
    /// The most attempts a second, if there is a limit.
    pub max_attempts_per_second: Option<NonZeroU32>,
    /// The most writes of gates a second.
    pub max_writes_per_second: NonZeroU32,
    /// Where events go.
    pub recorder: Recorder,
    /// What is counted.
    pub metrics: Metrics,
}

/// The leader's side of the process.
pub struct Leader {
    permit: Permit,
    tools: Tools,
    engine: Engine,
    attempts: Attempts,
    executing: JoinSet<Executed>,
    statuses: Statuses,
    slices: Slices,
    announcer: Announcer,
    announcements: mpsc::Sender<Announcement>,
    /// The pods behind restarts in flight, which are spoken of when they are gone.
    restarted: BTreeMap<ReplicaKey, (ObjectName, Uid)>,
    effects: Vec<Effect>,
    outdated: bool,
}

/// Something that the leader began and that has ended.
#[derive(Debug)]
pub enum Finished {
    /// An attempt.
    Attempt(Ended),
    /// An effect.
    Effect(Executed),
}

/// What became of an effect.
#[derive(Debug)]
pub enum Executed {
    /// A gate's write.
    Gate {
        /// Whose.
        replica: ReplicaKey,
        /// How it was to stand.
        gate: Option<Gate>,
        /// The version of the pod that the write made.
        result: Result<ResourceVersion, Failure>,
    },
    /// A slice's write, or its end.
    Slice {
        /// Which.
        slice: ObjectName,
        /// What it is then; nothing if it is gone.
        result: Result<Option<SliceRecord>, Failure>,
    },
    /// A gate that is written by slices.
    Held {
        /// Whose.
        replica: ReplicaKey,
        /// How it went.
        result: EffectResult,
    },
    /// A restart.
    Restart {
        /// The policy that wanted it.
        policy: PolicyKey,
        /// Whose.
        replica: ReplicaKey,
        /// The rule that wanted it.
        rule: RuleKind,
        /// How it went.
        result: Result<(), Failure>,
    },
    /// The write of a policy's status.
    Status {
        /// Whose.
        policy: PolicyKey,
        /// The version of the policy that the write made.
        result: Result<ResourceVersion, Failure>,
    },
    /// An intent that the engine did not hold any more when it was to be written.
    Unwritten {
        /// Which.
        intent: IntentId,
    },
    /// The sender of events, which ends with the leader.
    Announcer,
}

/// Events that wait to be sent; beyond that they are dropped.
const ANNOUNCEMENTS: usize = 256;

impl Leader {
    /// A leader with a fresh engine that is told everything the index knows.
    pub fn begin(permit: Permit, tools: Tools, index: &mut Index, now: Time) -> Self {
        let known = index.replay();
        let engine = Engine::with_room_for(known.len()).with_write_limit(tools.max_writes_per_second);
        let mut engine = match tools.max_attempts_per_second {
            Some(limit) => engine.with_attempt_ceiling(limit),
            None => engine,
        };
        for input in known {
            engine.handle(now, input);
        }
        let (announcements, queue) = mpsc::channel(ANNOUNCEMENTS);
        let mut executing = JoinSet::new();
        executing.spawn(announce(tools.clone(), permit.clone(), queue));
        Self {
            attempts: Attempts::new(tools.max_attempts),
            permit,
            tools,
            engine,
            executing,
            statuses: Statuses::default(),
            slices: Slices::default(),
            announcer: Announcer::default(),
            announcements,
            restarted: BTreeMap::new(),
            effects: Vec::new(),
            outdated: false,
        }
    }

    /// The right to act that this leader was given.
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Whether the engine began without all that the leader before had written, so that another has to begin.
    pub fn is_outdated(&self) -> bool {
        self.outdated
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns when something that was begun has ended.
    pub async fn finished(&mut self) -> Finished {
        loop {
            tokio::select! {
                ended = self.attempts.ended() => return Finished::Attempt(ended),
                Some(executed) = self.executing.join_next() => match executed {
                    Ok(executed) => return Finished::Effect(executed),
                    Err(error) => tracing::error!(%error, "an executor broke"),
                },
            }
        }
    }

    /// Something that has ended already.
    pub fn try_finished(&mut self) -> Option<Finished> {
        if let Some(ended) = self.attempts.try_ended() {
            return Some(Finished::Attempt(ended));
        }
        loop {
            match self.executing.try_join_next()? {
                Ok(executed) => return Some(Finished::Effect(executed)),
                Err(error) => tracing::error!(%error, "an executor broke"),
            }
        }
    }

    /// The engine hears facts.
    pub fn hear(&mut self, now: Time, inputs: impl IntoIterator<Item = Input>) {
        for input in inputs {
            self.engine.handle(now, input);
        }
    }

    /// The engine hears what became of something it had asked for.
    pub fn hear_finished(&mut self, index: &mut Index, now: Time, finished: Finished) {
        match finished {
            Finished::Attempt(Ended::Dependency { attempt, outcome }) => {
                if let Some(record) = index.policy(attempt.policy) {
                    self.tools.metrics.dependency_asked(&record.name, attempt.dependency, outcome);
                }
                self.engine.handle(now, Input::DependencyAnswered { attempt, outcome });
            }
            Finished::Attempt(Ended::Replica { attempt, policy, outcome }) => {
                if let Some(record) = index.policy(policy) {
                    self.tools.metrics.attempted(&record.name, attempt.rule, outcome);
                }
                self.engine.handle(now, Input::AttemptFinished { attempt, outcome });
            }
            Finished::Effect(Executed::Gate { replica, gate, result }) => {
                let result = match result {
                    Ok(version) => {
                        self.hear(now, index.wrote(replica, version, gate));
                        EffectResult::Applied
                    }
                    Err(failure) => failed("the gate", index.pod(replica), &failure),
                };
                if !self.slices.wrote_pod(replica, result) {
                    self.engine.handle(now, Input::GateResult { replica, result });
                }
            }
            Finished::Effect(Executed::Slice { slice, result }) => {
                let told = match &result {
                    Ok(Some(written)) => index.wrote_slice(written.clone()),
                    Ok(None) => index.deleted_slice(&slice),
                    Err(failure) => {
                        warn!(%slice, %failure, "could not write a slice");
                        Vec::new()
                    }
                };
                self.hear(now, told);
                self.slices.written(index, &slice, result.as_ref().map(drop), now);
            }
            Finished::Effect(Executed::Held { replica, result }) => {
                self.engine.handle(now, Input::GateResult { replica, result });
            }
            Finished::Effect(Executed::Restart { policy, replica, rule, result }) => {
                let record = index.policy(policy);
                let result = match result {
                    Ok(()) => EffectResult::Applied,
                    Err(failure) => failed("the restart", index.pod(replica), &failure),
                };
                match (record, result) {
                    (Some(record), EffectResult::Applied) => self.tools.metrics.restarted(&record.name, rule),
                    (Some(record), EffectResult::Refused(refusal)) => {
                        self.tools.metrics.restart_refused(&record.name, refusal);
                    }
                    (Some(_), EffectResult::Unknown) | (None, _) => {}
                }
                self.engine.handle(now, Input::RestartResult { policy, replica, result });
            }
            Finished::Effect(Executed::Status { policy, result }) => {
                let answers = self.statuses.written(policy, result, now);
                self.hear(now, answers);
            }
            Finished::Effect(Executed::Unwritten { intent }) => {
                let result = EffectResult::Refused(Refusal::Changed);
                self.engine.handle(now, Input::IntentResult { intent, result });
            }
            Finished::Effect(Executed::Announcer) => {}
        }
    }

    /// Pods have entered the slices of Services, or left them.
    pub fn hear_moves(&mut self, index: &Index, now: Time, moves: Vec<Move>) {
        for Move { pod, to } in moves {
            if let Some((Some(policy), _)) = index.pod_named(&pod)
                && let Some(delay) = self.statuses.propagated(policy, &pod.name, to, now)
                && let Some(record) = index.policy(policy)
            {
                self.tools.metrics.propagated(&record.name, delay);
            }
        }
    }

    /// When the engine or a slice wants a turn if nothing happens before.
    pub fn next_deadline(&self, now: Time) -> Option<Time> {
        self.engine.next_poll().into_iter().chain(self.slices.next(now)).min()
    }

    /// The engine decides over all it heard; then its effects are begun, and the slices and statuses that are due.
    /// `touched` is what the index has touched since the turn before.
    pub fn turn(&mut self, index: &Index, touched: BTreeSet<Touched>, now: Time) {
        let mut effects = std::mem::take(&mut self.effects);
        self.engine.poll(now, &mut effects);
        for effect in effects.drain(..) {
            self.begin_effect(index, now, effect);
        }
        self.effects = effects;
        self.begin_slices(index, touched, now);
        self.begin_statuses(index, now);
    }

    fn begin_effect(&mut self, index: &Index, now: Time, effect: Effect) {
        match effect {
            Effect::StartAttempt { attempt, policy, incarnation, deadline } => {
                let target = targets::of(index, &self.tools.commands, attempt, policy, incarnation);
                self.attempts.start(target, attempt, policy, deadline.since(now));
            }
            Effect::AskDependency { attempt, deadline } => {
                self.attempts.start_any(targets::of_dependency(index, attempt), attempt, deadline.since(now));
            }
            Effect::SetGate { replica, gate, verdict, reason } => {
                let pod = index.pod(replica);
                let write = pod.map(|pod| {
                    let by_gate = gate.filter(|_| pod.gate != GateSeen::Ungated);
                    let since = by_gate.map(|gate| (gate, gate_since(pod, gate, now)));
                    GateWrite {
                        pod: pod.name.clone(),
                        uid: pod.uid.clone(),
                        condition: since.map(|(gate, since)| GateCondition::new(gate, since, reason)),
                        verdict: Some(verdict_annotation(index, replica, verdict)),
                    }
                });
                if let Some(((pool, pod), gate)) = index.pool_of(replica).zip(pod).zip(gate) {
                    let is_needless = |write: &GateWrite| {
                        write.condition.is_none() && write.verdict.as_ref() == pod.verdict.as_deref()
                    };
                    let is_written = write.as_ref().is_some_and(is_needless);
                    let pod_write = if is_written { Leg::Done(EffectResult::Applied) } else { Leg::UnderWay };
                    self.slices.hold(index, replica, pool, pod, gate, pod_write);
                    if is_written {
                        return;
                    }
                }
                let (tools, permit) = (self.tools.clone(), self.permit.clone());
                self.executing.spawn(async move {
                    let result = match write {
                        Some(write) => write.send(tools.actor, &permit, tools.timeout).await,
                        None => Err(Failure::Gone),
                    };
                    Executed::Gate { replica, gate, result }
                });
            }
            Effect::RecordIntent { intent, .. } => {
                if let Some(pod) = index.pod(intent.replica) {
                    self.restarted.insert(intent.replica, (pod.name.clone(), pod.uid.clone()));
                }
                self.statuses.intend(index, intent);
            }
            Effect::Restart { policy, replica, rule, incarnation, method, grace_period } => {
                let same = index.container_id(replica, incarnation).is_some();
                let restart = index.pod(replica).filter(|_| same).map(|pod| Restart {
                    pod: pod.name.clone(),
                    uid: pod.uid.clone(),
                    method,
                    grace_period,
                });
                let (tools, permit) = (self.tools.clone(), self.permit.clone());
                self.executing.spawn(async move {
                    let result = match restart {
                        Some(restart) => restart.send(tools.actor, &permit, tools.timeout).await,
                        None => Err(Failure::Gone),
                    };
                    Executed::Restart { policy, replica, rule, result }
                });
            }
            Effect::Record(transition) => self.record(index, &transition),
            Effect::RecordFleet(transition) => self.record_fleet(index, &transition),
            Effect::Published { transition, at } => {
                if let Some((policy, delay)) = self.statuses.published(transition, at)
                    && let Some(record) = index.policy(policy)
                {
                    self.tools.metrics.published(&record.name, delay);
                }
            }
            Effect::Took { transition, at } => {
                if let Some((policy, delay)) = self.statuses.took(transition, at)
                    && let Some(record) = index.policy(policy)
                {
                    self.tools.metrics.took_effect(&record.name, delay);
                }
            }
        }
    }

    fn begin_slices(&mut self, index: &Index, touched: BTreeSet<Touched>, now: Time) {
        let due = self.slices.due(index, touched, now);
        for order in due.orders {
            let (tools, permit) = (self.tools.clone(), self.permit.clone());
            self.executing.spawn(carry_out(order, tools, permit));
        }
        for (replica, result) in due.answers {
            self.executing.spawn(async move { Executed::Held { replica, result } });
        }
    }

    fn begin_statuses(&mut self, index: &Index, now: Time) {
        let due = self.statuses.due(index, &self.engine, now);
        self.outdated |= due.outdated;
        for write in due.writes {
            let (tools, permit) = (self.tools.clone(), self.permit.clone());
            self.executing.spawn(async move {
                let result = write.send(tools.actor, &permit, tools.timeout).await;
                Executed::Status { policy: write.policy, result }
            });
        }
        for intent in due.unwritten {
            self.executing.spawn(async move { Executed::Unwritten { intent } });
        }
    }

    /// One transition, with the same sentence in log, status and events.
    fn record(&mut self, index: &Index, transition: &Transition) {
        let pod = index.pod(transition.replica).map(|pod| (pod.name.clone(), pod.uid.clone()));
        let Some((pod, uid)) = pod.or_else(|| self.restarted.get(&transition.replica).cloned()) else { return };
        let policy = transition.policy.and_then(|policy| Some((policy, index.policy(policy)?)));
        let (kind, reason) = (transition.kind.name(), transition.reason.name());
        let name = policy.map(|(_, record)| &*record.name.name);
        info!(%pod, policy = name, kind, reason, "{}", transition.reason);

        if let Some((policy, _)) = policy
            && let Some(ledger) = self.statuses.ledger(index, policy)
        {
            ledger.record(&pod.name, transition);
        }
        let subject = policy.map(|(_, record)| Subject { name: &record.name, uid: &record.uid });
        let about = Subject { name: &pod, uid: &uid };
        let (announcements, mut dropped) = self.announcer.announce(transition, about, subject);
        for announcement in announcements {
            dropped += u32::from(self.announcements.try_send(announcement).is_err());
        }
        self.tools.metrics.events_dropped(dropped);
        if matches!(transition.kind, TransitionKind::Returned | TransitionKind::DidNotReturn) {
            self.restarted.remove(&transition.replica);
        }
    }

    /// One transition of a fleet as a whole, likewise.
    fn record_fleet(&mut self, index: &Index, transition: &FleetTransition) {
        let Some(record) = index.policy(transition.policy) else { return };
        let (kind, reason) = (transition.kind.name(), transition.reason.name());
        info!(policy = &*record.name.name, kind, reason, "{}", transition.reason);
        if let Some(ledger) = self.statuses.ledger(index, transition.policy) {
            ledger.record_fleet(transition);
        }
        let about = Subject { name: &record.name, uid: &record.uid };
        let announcement = self.announcer.announce_fleet(transition, about);
        let dropped = announcement.is_none_or(|told| self.announcements.try_send(told).is_err());
        self.tools.metrics.events_dropped(u32::from(dropped));
    }
}

async fn carry_out(order: Order, tools: Tools, permit: Permit) -> Executed {
    let result = order.send(tools.actor, &permit, tools.timeout).await;
    Executed::Slice { slice: order.slice().clone(), result }
}

async fn announce(tools: Tools, permit: Permit, mut queue: mpsc::Receiver<Announcement>) -> Executed {
    while let Some(Announcement { event, about }) = queue.recv().await {
        let publish = tools.recorder.publish(&event, &about);
        if let Err(failure) = answer::ask(&permit, tools.timeout, publish).await {
            warn!(%failure, reason = event.reason, "could not publish an event");
            tools.metrics.events_dropped(1);
        }
    }
    Executed::Announcer
}

fn failed(what: &str, pod: Option<&PodRecord>, failure: &Failure) -> EffectResult {
    let pod = pod.map(|pod| pod.name.to_string());
    warn!(pod, %failure, "could not carry out {what}");
    failure.result()
}

/// A gate that is written as it stood keeps its transition time.
fn gate_since(pod: &PodRecord, gate: Gate, now: Time) -> Timestamp {
    let unchanged = pod.gate == GateSeen::Set(gate);
    timestamp(pod.gate_since.filter(|_| unchanged).unwrap_or(now))
}

fn verdict_annotation(index: &Index, replica: ReplicaKey, verdict: Verdict) -> VerdictAnnotation {
    let container = verdict.started.and_then(|container| index.container_id(replica, container));
    VerdictAnnotation {
        container: container.map(str::to_owned),
        started: verdict.started.is_some(),
        generation: verdict.generation,
    }
}
