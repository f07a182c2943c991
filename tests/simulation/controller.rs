//! One controller: an engine, what it has been shown of the cluster, and what is on its way between the two.

mod letters;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use probe_policy::engine::{
    AttemptId, DependencyAttempt, Effect, Engine, Input, IntentId, NodeKey, NodeState, Outcome, OutcomeClass, Owner,
    OwnerKey, Policy, PolicyKey, PolicyReport, RuleKind, Span, Time,
};

use super::cluster::{Cluster, Pod, Thing};
use super::coverage::{Coverage, Fault, Recent};
use super::invariants::History;
use super::random::Random;
use super::reference::Reference;
use letters::{Letter, Request, rule_of};

/// How late the end of an attempt may be noticed before it is our own fault.
const STARVED_AFTER: Span = Span::from_millis(500);

pub struct Controller {
    pub engine: Engine,
    pub role: Role,
    /// Its clock: the wall clock when it began, and what has passed since.
    pub ahead: Span,
    pub policy: Option<PolicyKey>,
    /// The last valid one.
    pub spec: Option<Policy>,
    pub shown: BTreeMap<u32, Pod>,
    pub owners: BTreeMap<OwnerKey, Owner>,
    pub nodes: BTreeMap<NodeKey, NodeState>,
    /// What a watch is about to show, and when.
    stale: BTreeMap<Thing, Time>,
    pub cut_until: Time,
    pub frozen_until: Time,
    /// It was cut off or stood still, and has not heard anything since.
    is_deaf: bool,
    asked: Vec<Asked>,
    letters: Vec<Letter>,
    /// Restarts whose intent is to be written with the next status.
    waiting: Vec<(IntentId, RuleKind)>,
    version: u64,
    status_at: Time,
    pub acknowledged: BTreeSet<IntentId>,
    pub reference: Reference,
    pub history: History,
    effects: Vec<Effect>,
    /// Whether what it hears and does is printed.
    is_traced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Leader,
    /// Another leads meanwhile: what it sends is refused.
    Fenced,
}

/// An attempt under way.
struct Asked {
    attempt: Attempt,
    class: OutcomeClass,
    deadline: Time,
    answer_at: Time,
    began: Time,
}

#[derive(Clone, Copy)]
enum Attempt {
    Replica(AttemptId),
    Dependency(DependencyAttempt),
}

/// What a turn of a controller happens in.
pub struct Around<'a> {
    pub cluster: &'a mut Cluster,
    pub random: &'a mut Random,
    pub coverage: &'a mut Coverage,
    pub recent: &'a mut Recent,
    pub now: Time,
}

impl Controller {
    /// A controller that knows what the API server holds.
    pub fn begin(cluster: &Cluster, now: Time, is_traced: bool) -> Self {
        let mut new = Self {
            engine: cluster.limits.engine(),
            role: Role::Leader,
            ahead: cluster.ahead,
            policy: None,
            spec: None,
            shown: BTreeMap::new(),
            owners: BTreeMap::new(),
            nodes: BTreeMap::new(),
            stale: BTreeMap::new(),
            cut_until: now,
            frozen_until: now,
            is_deaf: false,
            asked: Vec::new(),
            letters: Vec::new(),
            waiting: Vec::new(),
            version: 0,
            status_at: now,
            acknowledged: BTreeSet::new(),
            reference: Reference::default(),
            history: History::default(),
            effects: Vec::new(),
            is_traced,
        };
        for owner in cluster.owners.keys() {
            new.show(Thing::Owner(*owner), cluster, now);
        }
        for node in cluster.nodes.keys() {
            new.show(Thing::Node(*node), cluster, now);
        }
        new.show(Thing::Policy, cluster, now);
        new.resume(cluster, now);
        for index in cluster.pods.keys() {
            new.show(Thing::Pod(*index), cluster, now);
        }
        new.tell(now, Input::Synced);
        new
    }

    /// The time by its own clock.
    pub fn time(&self, now: Time) -> Time {
        now + self.ahead
    }

    pub fn report(&self, now: Time) -> Option<PolicyReport> {
        self.engine.report(self.policy?, self.time(now))
    }

    /// Something changed, and will be shown.
    pub fn changed(&mut self, thing: Thing, at: Time) {
        self.stale.entry(thing).or_insert(at);
    }

    /// Whether it acts at all now.
    pub fn is_awake(&self, now: Time) -> bool {
        self.frozen_until <= now
    }

    /// When something is to happen here next.
    pub fn next(&self, now: Time) -> Option<Time> {
        let engine = self.engine.next_poll().map(|at| now + at.since(self.time(now)));
        let asked = self.asked.iter().map(|asked| asked.answer_at);
        let letters = self.letters.iter().map(|letter| letter.arrives_at.unwrap_or(letter.answer_at));
        asked.chain(letters).chain(engine).min()
    }

    /// Hears what has come, decides, and sends what is to be done.
    pub fn turn(&mut self, around: &mut Around<'_>) {
        self.arrive(around);
        if !self.is_awake(around.now) {
            return;
        }
        self.hear_again(around.now);
        if around.random.one_in(2) {
            self.watch(around);
            self.hear(around);
        } else {
            self.hear(around);
            self.watch(around);
        }
        self.poll(around);
    }

    /// Nothing that it sent is on its way any more: it arrived just now, or never will.
    pub fn flush(&mut self, around: &mut Around<'_>) {
        for letter in &mut self.letters {
            letter.arrives_at = letter.arrives_at.filter(|_| around.random.one_in(2)).map(|_| around.now);
        }
        self.arrive(around);
        self.letters.retain(|letter| letter.arrives_at.is_none());
    }

    fn poll(&mut self, around: &mut Around<'_>) {
        let now = self.time(around.now);
        let mut effects = std::mem::take(&mut self.effects);
        self.engine.poll(now, &mut effects);
        self.reference.polled(self.spec.as_ref(), &self.shown, now);
        for effect in effects.iter().filter(|_| self.is_traced) {
            println!("{} {:?} does {effect:?}", around.now.as_nanos() / 1_000_000, self.role);
        }
        self.check(&effects, around);
        for effect in effects.drain(..) {
            self.carry_out(effect, around);
        }
        self.effects = effects;
        self.write_status(around);
    }

    fn carry_out(&mut self, effect: Effect, around: &mut Around<'_>) {
        match effect {
            Effect::StartAttempt { attempt, deadline, .. } => {
                self.reference.began(attempt, deadline, self.time(around.now));
                self.ask(Attempt::Replica(attempt), deadline, around);
            }
            Effect::SetGate { replica, gate, verdict, reason } => {
                let rule = rule_of(reason);
                self.send(Request::Gate { replica, gate, started: verdict.started, rule }, around);
            }
            Effect::RecordIntent { intent, rule, .. } => {
                if self.role == Role::Leader {
                    around.cluster.decided(intent.replica, around.now, self.ahead);
                }
                self.waiting.push((intent, rule));
            }
            Effect::Restart { policy, replica, rule, .. } => {
                self.send(Request::Restart { policy, replica, rule }, around);
            }
            Effect::AskDependency { attempt, deadline } => {
                self.reference.dependencies.began(attempt, deadline, self.time(around.now));
                self.ask(Attempt::Dependency(attempt), deadline, around);
            }
            Effect::Record(_) | Effect::RecordFleet(_) | Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    fn ask(&mut self, attempt: Attempt, deadline: Time, around: &mut Around<'_>) {
        let Around { cluster, random, now, .. } = around;
        let timeout = deadline.since(self.time(*now));
        let deadline = *now + timeout;
        let class = match attempt {
            Attempt::Dependency(attempt) if cluster.lost.contains(&attempt.dependency) => OutcomeClass::NobodyThere,
            Attempt::Dependency(_) => OutcomeClass::Passed,
            Attempt::Replica(attempt) => match cluster.pod(attempt.replica) {
                Some(pod) if cluster.cut == Some(pod.node) => OutcomeClass::ConnectTimeout,
                Some(pod) => pod.answer(attempt.rule, *now),
                None => OutcomeClass::ConnectTimeout,
            },
        };
        let took = match class {
            OutcomeClass::NoResponse | OutcomeClass::ConnectTimeout => timeout,
            _ => Span::from_nanos(random.below(timeout.as_nanos().min(Span::from_millis(300).as_nanos()))),
        };
        let (class, took) = match random.below(24) {
            0 => {
                around.recent.note(Fault::AnswerLost, *now);
                return;
            }
            1 => {
                around.recent.note(Fault::AnswerLate, *now);
                // Many come about when they are given up.
                let late = if random.one_in(2) { random.below(9_000) } else { 4_700 + random.below(600) };
                (class, timeout + Span::from_millis(late))
            }
            2 => {
                around.recent.note(Fault::ProberError, *now);
                (OutcomeClass::ProberError, took)
            }
            _ => (class, took),
        };
        if class == OutcomeClass::Passed
            && let Attempt::Replica(attempt) = attempt
            && let Some(pod) = cluster.pod_mut(attempt.replica)
        {
            pod.has_passed = true;
        }
        around.coverage.attempts += 1;
        self.asked.push(Asked { attempt, class, deadline, answer_at: *now + took, began: *now });
    }

    /// Hears the answers that have come, in any order.
    fn hear(&mut self, around: &mut Around<'_>) {
        let now = around.now;
        let mut answered: Vec<_> = self.asked.extract_if(.., |asked| asked.answer_at <= now).collect();
        while !answered.is_empty() {
            let asked = answered.swap_remove(around.random.below(answered.len() as u64) as usize);
            let is_late = now.since(asked.answer_at) > STARVED_AFTER && asked.deadline + STARVED_AFTER < now;
            let class = if is_late { OutcomeClass::ProberError } else { asked.class };
            let outcome = Outcome { class, took: now.since(asked.began) };
            match asked.attempt {
                Attempt::Replica(attempt) => {
                    let pod = self.shown.get(&attempt.replica.index);
                    let spec = self.spec.as_ref().filter(|_| pod.is_some_and(|pod| pod.is_selected));
                    self.reference.heard(attempt, outcome, spec, pod, now + self.ahead);
                    self.tell(now, Input::AttemptFinished { attempt, outcome });
                }
                Attempt::Dependency(attempt) => {
                    if Some(attempt.policy) == self.policy {
                        self.reference.dependencies.heard(attempt, class, now + self.ahead);
                    }
                    self.tell(now, Input::DependencyAnswered { attempt, outcome });
                }
            }
        }
        let is_due = |letter: &mut Letter| letter.arrives_at.is_none() && letter.answer_at <= now;
        let mut answered: Vec<_> = self.letters.extract_if(.., is_due).collect();
        while !answered.is_empty() {
            let letter = answered.swap_remove(around.random.below(answered.len() as u64) as usize);
            self.answer(letter.request, letter.result, around);
        }
    }

    fn tell(&mut self, now: Time, input: Input) {
        if self.is_traced {
            println!("{} {:?} hears {input:?}", now.as_nanos() / 1_000_000, self.role);
        }
        self.engine.handle(now + self.ahead, input);
    }
}
