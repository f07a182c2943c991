//! What a controller asks of the API server, on its way there and back.

use std::collections::BTreeMap;

use probe_policy::engine::{
    Dependency, EffectResult, Gate, GateSeen, Incarnation, Input, IntentId, PerRule, PolicyKey, Question, Reason,
    Refusal, ReplicaKey, RuleKind, SeatKey, SeatMemory, Span, Time,
};

use super::super::cluster::Status;
use super::super::coverage::Fault;
use super::{Around, Controller, Role};

/// How often the status is written though no restart waits for it.
const STATUS_EVERY: Span = Span::from_secs(5);

/// A request on its way to the API server, and its answer.
pub(super) struct Letter {
    pub(super) request: Request,
    /// When it reaches the API server; `None` once it has, or if it never does.
    pub(super) arrives_at: Option<Time>,
    pub(super) answer_at: Time,
    pub(super) result: EffectResult,
    /// The answer is lost: whatever it was, nobody knows.
    pub(super) is_lost: bool,
}

pub(super) enum Request {
    Gate { replica: ReplicaKey, gate: Option<Gate>, started: Option<Incarnation>, rule: Option<RuleKind> },
    Status { policy: PolicyKey, version: u64, status: Status, intents: Vec<(IntentId, RuleKind)> },
    Restart { policy: PolicyKey, replica: ReplicaKey, rule: RuleKind },
}

impl Controller {
    pub(super) fn send(&mut self, request: Request, around: &mut Around<'_>) {
        let Around { random, now, .. } = around;
        // Now and then the API server takes its time.
        let longest = if random.one_in(8) { 1_800 } else { 200 };
        let arrives_at = *now + Span::from_millis(random.below(longest));
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
    pub(super) fn arrive(&mut self, around: &mut Around<'_>) {
        for letter in &mut self.letters {
            if letter.arrives_at.is_none_or(|at| at > around.now) {
                continue;
            }
            letter.arrives_at = None;
            let cluster = &mut *around.cluster;
            let result = match &letter.request {
                Request::Gate { replica, gate, started, .. } => cluster.set_gate(*replica, *gate, *started),
                Request::Restart { replica, .. } => cluster.restart(*replica, around.now),
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

    pub(super) fn answer(&mut self, request: Request, result: EffectResult, around: &mut Around<'_>) {
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
            Request::Restart { policy, replica, rule } => {
                meet(rule);
                around.coverage.restarts += u64::from(result == EffectResult::Applied);
                self.tell(now, Input::RestartResult { policy, replica, result });
            }
            Request::Status { policy, intents, .. } => {
                intents.iter().for_each(|(_, rule)| meet(*rule));
                if let Some(object) = around.cluster.object.as_ref().filter(|object| object.key == policy) {
                    self.version = object.status.version;
                }
                for (intent, _) in intents {
                    if result == EffectResult::Applied {
                        self.acknowledged.insert(intent);
                    }
                    self.tell(now, Input::IntentResult { intent, result });
                }
            }
        }
    }

    /// Writes the status when an intent waits for it, and else now and then; one write at a time.
    pub(super) fn write_status(&mut self, around: &mut Around<'_>) {
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
        let beaten = report.heartbeat.is_some_and(|heartbeat| heartbeat.ever_beat);
        let whole_at = report.budget.and_then(|budget| budget.whole_at);
        let listed = spec.into_iter().flat_map(|spec| &spec.dependencies);
        let has_passed = |it: &&Dependency| self.reference.dependencies.get(it.name).is_some_and(|it| it.ever_passed);
        let dependencies = listed.filter(has_passed).map(|it| (it.name, it.rule.question)).collect();
        let status = Status { version, seats, passed, beaten, dependencies, whole_at };
        self.send(Request::Status { policy, version, status, intents }, around);
    }
}

/// The rule that a gate's reason speaks of.
pub(super) fn rule_of(reason: Reason) -> Option<RuleKind> {
    match reason {
        Reason::Passed { rule, .. } | Reason::Failed { rule, .. } | Reason::Held { rule, .. } => Some(rule),
        Reason::Starting => Some(RuleKind::Startup),
        Reason::NotJudged => Some(RuleKind::Readiness),
        _ => None,
    }
}
