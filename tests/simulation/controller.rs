//! One controller: an engine, what it has been shown of the cluster, and what is on its way between the two.

use std::collections::{BTreeMap, BTreeSet};

use probe_policy::engine::{
    AttemptId, Effect, EffectResult, Engine, Gate, GateSeen, Incarnation, Input, Intent, Lifecycle, NodeKey, NodeState,
    Outcome, OutcomeClass, Owner, OwnerKey, PerRule, Policy, PolicyKey, PolicyReport, Question, Reason, Refusal,
    Remembered, ReplicaKey, RuleKind, SeatKey, SeatMemory, Span, Time,
};

use super::cluster::{Cluster, Pod, Status, Thing};
use super::coverage::{Coverage, Fault, Recent};
use super::invariants::History;
use super::random::Random;
use super::reference::Reference;

/// How often the status is written though no restart waits for it.
const STATUS_EVERY: Span = Span::from_secs(5);
/// How late the end of an attempt may be noticed before it is our own fault.
const STARVED_AFTER: Span = Span::from_millis(500);

pub struct Controller {
    pub engine: Engine,
    pub role: Role,
    /// Its clock: the wall clock when it began, and what has passed since.
    ahead: Span,
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
    asked: Vec<Asked>,
    letters: Vec<Letter>,
    /// Restarts whose intent is to be written with the next status.
    waiting: Vec<(ReplicaKey, RuleKind)>,
    version: u64,
    status_at: Time,
    pub acknowledged: BTreeSet<ReplicaKey>,
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
    attempt: AttemptId,
    class: OutcomeClass,
    deadline: Time,
    answer_at: Time,
    began: Time,
}

/// A request on its way to the API server, and its answer.
struct Letter {
    request: Request,
    /// When it reaches the API server; `None` once it has, or if it never does.
    arrives_at: Option<Time>,
    answer_at: Time,
    result: EffectResult,
    /// The answer is lost: whatever it was, nobody knows.
    is_lost: bool,
}

enum Request {
    Gate { replica: ReplicaKey, gate: Option<Gate>, started: Option<Incarnation>, rule: Option<RuleKind> },
    Status { policy: PolicyKey, version: u64, status: Status, intents: Vec<(ReplicaKey, RuleKind)> },
    Restart { replica: ReplicaKey, rule: RuleKind },
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
            engine: Engine::new(),
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
        let engine = self.engine.next_deadline().map(|(at, _)| now + at.since(self.time(now)));
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
            Effect::StartAttempt { attempt, deadline, .. } => self.ask(attempt, deadline, around),
            Effect::SetGate { replica, gate, verdict, reason } => {
                let rule = rule_of(reason);
                self.send(Request::Gate { replica, gate, started: verdict.started, rule }, around);
            }
            Effect::RecordIntent { replica, rule, .. } => {
                around.cluster.decided(replica, around.now);
                self.waiting.push((replica, rule));
            }
            Effect::Restart { replica, rule, .. } => self.send(Request::Restart { replica, rule }, around),
            Effect::Record(_) | Effect::RecordFleet(_) | Effect::Published { .. } | Effect::Took { .. } => {}
        }
    }

    fn ask(&mut self, attempt: AttemptId, deadline: Time, around: &mut Around<'_>) {
        let Around { cluster, random, now, .. } = around;
        self.reference.began(attempt, deadline, self.time(*now));
        let timeout = deadline.since(self.time(*now));
        let deadline = *now + timeout;
        let class = match cluster.pod(attempt.replica) {
            Some(pod) => pod.answer(attempt.rule, *now),
            None => OutcomeClass::ConnectTimeout,
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
                (class, timeout + Span::from_millis(random.below(9_000)))
            }
            2 => {
                around.recent.note(Fault::ProberError, *now);
                (OutcomeClass::ProberError, took)
            }
            _ => (class, took),
        };
        if class == OutcomeClass::Passed
            && let Some(pod) = cluster.pod_mut(attempt.replica)
        {
            pod.has_passed = true;
        }
        around.coverage.attempts += 1;
        self.asked.push(Asked { attempt, class, deadline, answer_at: *now + took, began: *now });
    }

    fn send(&mut self, request: Request, around: &mut Around<'_>) {
        let Around { random, now, .. } = around;
        let arrives_at = *now + Span::from_millis(random.below(200));
        let answer_at = arrives_at + Span::from_millis(random.below(200));
        let refused = match (&request, self.role) {
            (Request::Status { .. }, Role::Fenced) => Some(Refusal::Changed),
            (_, Role::Fenced) => Some(Refusal::Failed),
            (Request::Restart { .. }, Role::Leader) if random.one_in(8) => {
                Some(random.pick(&[Refusal::Budget, Refusal::Forbidden, Refusal::Failed]))
            }
            (_, Role::Leader) => random.one_in(8).then_some(Refusal::Failed),
        };
        let is_lost = refused.is_none() && random.one_in(8);
        if is_lost {
            around.recent.note(Fault::AnswerLost, *now);
        }
        self.letters.push(Letter {
            arrives_at: Some(arrives_at).filter(|_| refused.is_none() && !(is_lost && random.one_in(2))),
            answer_at: if is_lost { *now + Span::from_secs(2) } else { answer_at },
            result: refused.map_or(EffectResult::Unknown, EffectResult::Refused),
            is_lost,
            request,
        });
    }

    /// What has reached the API server by now is done there.
    fn arrive(&mut self, around: &mut Around<'_>) {
        for letter in &mut self.letters {
            if letter.arrives_at.is_none_or(|at| at > around.now) {
                continue;
            }
            letter.arrives_at = None;
            let cluster = &mut *around.cluster;
            let result = match &letter.request {
                Request::Gate { replica, gate, started, .. } => cluster.set_gate(*replica, *gate, *started),
                Request::Restart { replica, .. } => cluster.restart(*replica),
                Request::Status { policy, version, status, .. } => match &mut cluster.object {
                    Some(object) if object.key == *policy && object.status.version == *version => {
                        object.status = Status { version: version + 1, ..status.clone() };
                        EffectResult::Applied
                    }
                    Some(_) | None => EffectResult::Refused(Refusal::Changed),
                },
            };
            if !letter.is_lost {
                letter.result = result;
            }
        }
    }

    /// Hears the answers that have come, in any order.
    fn hear(&mut self, around: &mut Around<'_>) {
        let now = around.now;
        let mut answered: Vec<_> = self.asked.extract_if(.., |asked| asked.answer_at <= now).collect();
        while !answered.is_empty() {
            let asked = answered.swap_remove(around.random.below(answered.len() as u64) as usize);
            let is_late = now.since(asked.answer_at) > STARVED_AFTER && asked.deadline + STARVED_AFTER < now;
            let class = if is_late { OutcomeClass::ProberError } else { asked.class };
            let (attempt, outcome) = (asked.attempt, Outcome { class, took: now.since(asked.began) });
            let pod = self.shown.get(&attempt.replica.index);
            let spec = self.spec.as_ref().filter(|_| pod.is_some_and(|pod| pod.is_selected));
            self.reference.heard(attempt, outcome, spec, pod, now + self.ahead);
            self.tell(now, Input::AttemptFinished { attempt, outcome });
        }
        let is_due = |letter: &mut Letter| letter.arrives_at.is_none() && letter.answer_at <= now;
        let mut answered: Vec<_> = self.letters.extract_if(.., is_due).collect();
        while !answered.is_empty() {
            let letter = answered.swap_remove(around.random.below(answered.len() as u64) as usize);
            self.answer(letter.request, letter.result, around);
        }
    }

    fn answer(&mut self, request: Request, result: EffectResult, around: &mut Around<'_>) {
        let now = around.now;
        let mut meet = |rule| around.coverage.meet(around.recent, rule, result, now);
        match request {
            Request::Gate { replica, gate, started, rule } => {
                rule.into_iter().for_each(&mut meet);
                self.tell(now, Input::GateResult { replica, result });
                let shown = self.shown.get_mut(&replica.index).filter(|pod| pod.key == replica);
                if let Some(pod) = shown.filter(|_| result == EffectResult::Applied) {
                    pod.gate = gate.map_or(pod.gate, GateSeen::Set);
                    pod.started = started;
                    self.tell_pod(replica.index, None, now);
                }
            }
            Request::Restart { replica, rule } => {
                meet(rule);
                around.coverage.restarts += u64::from(result == EffectResult::Applied);
                self.tell(now, Input::RestartResult { replica, result });
            }
            Request::Status { policy, intents, .. } => {
                intents.iter().for_each(|(_, rule)| meet(*rule));
                if let Some(object) = around.cluster.object.as_ref().filter(|object| object.key == policy) {
                    self.version = object.status.version;
                }
                for (replica, _) in intents {
                    if result == EffectResult::Applied {
                        self.acknowledged.insert(replica);
                    }
                    self.tell(now, Input::IntentResult { replica, result });
                }
            }
        }
    }

    /// Sees what a watch shows by now, in any order: only the latest of what happened to a thing.
    fn watch(&mut self, around: &mut Around<'_>) {
        if self.cut_until > around.now {
            return;
        }
        let due: Vec<_> = self.stale.extract_if(.., |_, at| *at <= around.now).map(|(thing, _)| thing).collect();
        for thing in due {
            if let Thing::Pod(index) = thing
                && around.random.one_in(2)
                && around.cluster.pods.get(&index).map(|pod| pod.key) != self.shown.get(&index).map(|pod| pod.key)
            {
                self.lose(index, around.now);
            }
            self.show(thing, around.cluster, around.now);
        }
    }

    fn show(&mut self, thing: Thing, cluster: &Cluster, now: Time) {
        match thing {
            Thing::Owner(owner) => {
                let seen = cluster.owners[&owner];
                self.owners.insert(owner, seen);
                self.tell(now, Input::OwnerSeen { owner, seen });
            }
            Thing::Node(node) => {
                let state = cluster.nodes[&node];
                self.nodes.insert(node, state);
                self.tell(now, Input::NodeSeen { node, state });
            }
            Thing::Pod(index) => {
                let Some(pod) = cluster.pods.get(&index) else { return self.lose(index, now) };
                let is_new = self.shown.get(&index).is_none_or(|shown| shown.key != pod.key);
                let started = pod.started == Some(pod.incarnation);
                let remembered = (is_new && started).then_some(Remembered { started: true });
                self.shown.insert(index, pod.clone());
                self.reference.told_replica(pod, remembered.is_some());
                self.tell_pod(index, remembered, now);
            }
            Thing::Policy => self.show_policy(cluster, now),
        }
    }

    fn show_policy(&mut self, cluster: &Cluster, now: Time) {
        let key = cluster.object.as_ref().map(|object| object.key);
        if self.policy != key {
            if let Some(policy) = self.policy.take() {
                self.tell(now, Input::PolicyRemoved { policy });
            }
            (self.policy, self.spec, self.history) = (key, None, History::default());
            self.version = cluster.object.as_ref().map_or(0, |object| object.status.version);
            self.reference.lost_policy();
        }
        match &cluster.object {
            Some(object) if object.is_valid => {
                self.spec = Some(object.spec.clone());
                self.tell(now, Input::PolicySet { policy: object.key, spec: Box::new(object.spec.clone()) });
                self.reference.told_policy(&object.spec);
            }
            Some(object) => self.tell(now, Input::PolicyInvalid { policy: object.key }),
            None => {}
        }
        for index in self.shown.keys().copied().collect::<Vec<_>>() {
            self.tell_pod(index, None, now);
        }
    }

    /// What the leader before had written down.
    fn resume(&mut self, cluster: &Cluster, now: Time) {
        let Some((policy, spec)) = self.policy.zip(self.spec.clone()) else { return };
        let Some(Status { passed, seats, .. }) = cluster.object.as_ref().map(|object| object.status.clone()) else {
            return;
        };
        let question = |kind| spec.rule(kind).map(|rule| rule.question);
        let rules = PerRule::from_fn(|kind| passed[kind].is_some() && passed[kind] == question(kind));
        self.reference.ever_passed = rules;
        self.tell(now, Input::PassedBefore { policy, rules });
        for (seat, memory) in seats {
            let is_live = |key: &ReplicaKey| cluster.pod(*key).is_some_and(|pod| pod.lifecycle == Lifecycle::Live);
            let intent = memory.intent.map(|intent| Intent { replica: intent.replica.filter(is_live), ..intent });
            let memory = SeatMemory { intent, occupant: memory.occupant.filter(is_live), ..memory };
            self.tell(now, Input::SeatRestored { policy, seat, memory });
        }
    }

    /// Writes the status when an intent waits for it, and else now and then; one write at a time.
    fn write_status(&mut self, around: &mut Around<'_>) {
        let is_due = !self.waiting.is_empty() || around.now.since(self.status_at) >= STATUS_EVERY;
        let is_writing = self.letters.iter().any(|letter| matches!(letter.request, Request::Status { .. }));
        if !is_due || is_writing {
            return;
        }
        self.status_at = around.now;
        let intents = std::mem::take(&mut self.waiting);
        let Some((report, policy)) = self.report(around.now).zip(self.policy) else { return };
        let spec = self.spec.as_ref();
        let question = |kind: RuleKind| Some(spec?.rule(kind)?.question);
        let passed: PerRule<Option<Question>> =
            PerRule::from_fn(|kind| question(kind).filter(|_| report.rules[kind].is_some_and(|rule| rule.ever_passed)));
        let seats: BTreeMap<SeatKey, SeatMemory> = report.seats.iter().map(|seat| (seat.seat, seat.memory)).collect();
        let version = self.version;
        let status = Status { version, seats, passed };
        self.send(Request::Status { policy, version, status, intents }, around);
    }

    fn lose(&mut self, index: u32, now: Time) {
        if let Some(pod) = self.shown.remove(&index) {
            self.reference.told_gone(index);
            self.tell(now, Input::ReplicaGone { replica: pod.key });
        }
    }

    fn tell_pod(&mut self, index: u32, remembered: Option<Remembered>, now: Time) {
        if let Some(pod) = self.shown.get(&index) {
            let seen = pod.seen(self.policy.filter(|_| pod.is_selected), remembered);
            self.tell(now, seen);
        }
    }

    fn tell(&mut self, now: Time, input: Input) {
        if self.is_traced {
            println!("{} {:?} hears {input:?}", now.as_nanos() / 1_000_000, self.role);
        }
        self.engine.handle(now + self.ahead, input);
    }
}

/// The rule that a gate's reason speaks of.
fn rule_of(reason: Reason) -> Option<RuleKind> {
    match reason {
        Reason::Passed { rule, .. } | Reason::Failed { rule, .. } | Reason::Held { rule, .. } => Some(rule),
        Reason::Starting => Some(RuleKind::Startup),
        Reason::NotJudged => Some(RuleKind::Readiness),
        _ => None,
    }
}
