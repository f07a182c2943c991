//! Where a replica's gate should stand, and what is known of where it stands.

use super::fleet::{Fleet, Stand};
use super::judge::Opinion;
use super::proof::{Proof, Standpoint};
use super::pulse::Pulse;
use super::record::Recorder;
use super::replica::Replica;
use super::stance::Stance;
use super::writes::{Turn, Urgency, Writes};
use super::{
    Effect, EffectResult, Gate, GateSeen, Incarnation, Lifecycle, Mode, Obstacle, Pause, Policy, PolicyKey, Pool,
    Presence, Readiness, Reason, Refusal, Remembered, RuleKind, Span, Time, TransitionId, TransitionKind, Verdict,
    WhenBelow,
};

/// How long no policy must select a replica until its gate is opened.
pub(super) const RELEASE_AFTER: Span = Span::from_secs(30);
/// How long a written gate may go without effect on the pool until that is said.
const EFFECTIVE_WITHIN: Span = Span::from_secs(5);

/// What is known of a replica's gate.
#[derive(Clone, Debug, Default)]
pub(super) struct GateKeeper {
    /// What was decided.
    stance: Stance,
    /// What the API server holds, as far as we know.
    written: Option<Written>,
    /// What it should hold, if anything.
    wanted: Option<Written>,
    in_flight: Option<Written>,
    refusals: u32,
    retry: Option<Time>,
    /// When it is its turn to be written, if it has to wait for others.
    turn: Option<Turn>,
    /// Since when it stands otherwise at the API server than it should.
    unwritten: Option<Time>,
    flip: Option<Flip>,
}

/// What a gate write says; two that are equal need no second write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    gate: Option<Gate>,
    started: Option<Incarnation>,
}

/// The last change of the gate, on its way to the pool.
#[derive(Clone, Copy, Debug)]
struct Flip {
    transition: TransitionId,
    gate: Gate,
    published: Option<Time>,
}

impl GateKeeper {
    /// The keeper of a gate that was found so, with what an earlier engine concluded of the present container.
    pub(super) fn found(seen: GateSeen, remembered: Option<(Incarnation, Remembered)>) -> Self {
        let gate = match seen {
            GateSeen::Set(gate) => Some(gate),
            GateSeen::Ungated | GateSeen::Unset => None,
        };
        let held = gate.filter(|_| remembered.is_some()).map(|gate| (gate, Reason::Remembered));
        let written =
            remembered.map(|(container, verdict)| Written { gate, started: verdict.started.then_some(container) });
        Self { stance: Stance::found(held, gate), written, ..Self::default() }
    }

    /// Takes what the API server shows; while a write is under way its answer will tell.
    pub(super) fn observe(&mut self, seen: GateSeen) {
        if self.in_flight.is_some() {
            return;
        }
        match (seen, &mut self.written) {
            (GateSeen::Set(gate), Some(written)) => written.gate = Some(gate),
            (GateSeen::Unset, written) => *written = None,
            (GateSeen::Set(_), None) | (GateSeen::Ungated, _) => {}
        }
    }

    /// The container is another one: nothing is decided for it yet.
    pub(super) fn forget(&mut self) {
        self.stance.forget();
    }

    /// Where the gate should stand, and why.
    pub(super) fn held(&self) -> Option<(Gate, Reason)> {
        self.stance.held()
    }

    /// The same, with what came before.
    pub(super) fn stance(&self) -> &Stance {
        &self.stance
    }

    /// Whether the replica is in the pool, by what was decided.
    pub(super) fn standpoint(&self) -> Standpoint {
        if self.stance.is_open() { Standpoint::In } else { Standpoint::Out }
    }

    /// It stands open since there was no rule that could be asked.
    pub(super) fn is_open_for_want_of_a_rule(&self) -> bool {
        matches!(self.held(), Some((Gate::Open, Reason::NoRule | Reason::Unusable { .. })))
    }

    /// Closed at the API server for a while, and the pool has not followed.
    pub(super) fn is_ejection_not_effective(&self, now: Time) -> bool {
        self.flip.is_some_and(|flip| {
            flip.gate == Gate::Closed && flip.published.is_some_and(|at| now.since(at) >= EFFECTIVE_WITHIN)
        })
    }

    /// What was decided is written or on its way.
    fn is_settled(&self) -> bool {
        let overtaken = self.in_flight.is_some() && self.in_flight != self.wanted;
        !overtaken && self.retry.is_none() && self.turn.is_none()
    }

    /// The same time, unless the gate is open already, or is going to be.
    pub(super) fn release(&self, release: Option<Time>, seen: GateSeen) -> Option<Time> {
        let is_open = match self.held() {
            Some((gate, _)) => gate == Gate::Open,
            None => seen == GateSeen::Set(Gate::Open),
        };
        release.filter(|_| !is_open)
    }

    /// When the gate is to be written, or written again.
    pub(super) fn next_write(&self) -> Option<Time> {
        self.retry.or(self.turn.map(|turn| turn.at))
    }

    /// For how long it has stood otherwise at the API server than it should.
    pub(super) fn lag(&self, now: Time) -> Span {
        self.unwritten.map_or(Span::ZERO, |since| now.since(since))
    }
}

/// What was decided is written or on its way, and depends on nobody else.
pub(super) fn is_settled(replica: &Replica) -> bool {
    let depends = matches!(
        replica.decided().held(),
        Some((
            _,
            Reason::Held { .. } | Reason::HeldWithoutBeat { .. } | Reason::BelowFloor { .. } | Reason::Dwells { .. }
        ))
    );
    // A restart that was held for a dependency may be wanted by the next failure.
    let waits = matches!(replica.obstacle, Some(Obstacle::DependencyDown { .. }));
    !depends && !waits && replica.gate.is_settled()
}

/// Decides the gate of a replica, and writes what is not written yet.
pub(super) fn step(
    replica: &mut Replica,
    policy_key: Option<PolicyKey>,
    policy: Option<&Fleet>,
    writes: Option<&mut Writes>,
    now: Time,
    recorder: &mut Recorder<'_>,
) {
    let decided = decide(replica, policy, now);
    let settings = policy.and_then(|policy| policy.spec.as_ref()?.dwell.as_ref());
    replica.gate.stance.dwell(settings, decided, now);
    if let Some((gate, reason)) = decided {
        hold(replica, policy_key, gate, reason, now, recorder);
    }
    follow(&mut replica.gate, replica.seen.ready, now, recorder);
    write(replica, policy, writes, now, recorder);
}

/// Takes the answer to a gate write.
pub(super) fn wrote(replica: &mut Replica, result: EffectResult, now: Time, recorder: &mut Recorder<'_>) {
    let gate = &mut replica.gate;
    let Some(written) = gate.in_flight.take() else { return };
    match result {
        EffectResult::Applied => {
            (gate.written, gate.refusals, gate.retry) = (Some(written), 0, None);
            gate.unwritten.take_if(|_| gate.wanted == Some(written));
            if let Some(flip) = &mut gate.flip
                && flip.published.is_none()
                && written.gate == Some(flip.gate)
            {
                flip.published = Some(now);
                recorder.push(Effect::Published { transition: flip.transition, at: now });
            }
            follow(gate, replica.seen.ready, now, recorder);
        }
        EffectResult::Refused(_) | EffectResult::Unknown => {
            replica.is_settled = false;
            gate.written = None;
            gate.retry = Some(now + Refusal::retry_after(gate.refusals));
            gate.refusals = gate.refusals.saturating_add(1);
        }
    }
}

/// The table of the gate. `None` leaves it as it is.
fn decide(replica: &Replica, policy: Option<&Fleet>, now: Time) -> Option<(Gate, Reason)> {
    if replica.seen.gate == GateSeen::Ungated || replica.seen.lifecycle == Lifecycle::Terminating {
        return None;
    }
    let Some(policy) = policy else {
        return (replica.release? <= now).then_some((Gate::Open, Reason::NoPolicy));
    };
    let Some(spec) = &policy.spec else {
        return (replica.seen.gate == GateSeen::Unset).then_some((Gate::Open, Reason::InvalidPolicy));
    };
    if spec.mode == Mode::Observe {
        return Some((Gate::Open, Reason::Observing));
    }
    match replica.pause {
        Some(Pause::Mode | Pause::Policy { .. }) => let_in(replica, Reason::Paused),
        Some(Pause::Replica { .. }) => let_in(replica, Reason::ReplicaPaused),
        None => Some(enforced(replica, policy, spec, now)),
    }
}

/// Where the gate of a replica stands under an enforced policy, or would under one that is observed.
fn enforced(replica: &Replica, policy: &Fleet, spec: &Policy, now: Time) -> (Gate, Reason) {
    match spec.pool {
        Pool::None => (Gate::Open, Reason::NoRule),
        Pool::ReadinessGate | Pool::EndpointSlice => enforce(replica, policy, spec, now),
    }
}

/// Where the gate of a replica would stand if its policy, which is observed, were enforced. `None` leaves it as it is.
pub(super) fn foreseen(replica: &Replica, policy: &Fleet, spec: &Policy, now: Time) -> Option<(Gate, Reason)> {
    replica.foreseen.as_ref()?;
    let is_moved = replica.seen.gate != GateSeen::Ungated && replica.is_followed();
    is_moved.then(|| enforced(replica, policy, spec, now))
}

/// A container that nobody has decided on yet is let in; the others are left as they are.
fn let_in(replica: &Replica, reason: Reason) -> Option<(Gate, Reason)> {
    (replica.gate.held().is_none() && replica.is_running()).then_some((Gate::Open, reason))
}

/// What a replica's own rules say of the pool; `None` if it has not started, does not run, is paused or being ended.
pub(super) fn stand(replica: &Replica, policy: &Fleet, spec: &Policy, now: Time) -> Option<Stand> {
    if !replica.is_followed() {
        return None;
    }
    let own = own(replica, policy, spec);
    match own {
        // While an ejection lasts, passing does not make it ready.
        (Gate::Open, _) => match dwelt(replica, spec, own, now) {
            (Gate::Closed, _) => Some(Stand::Failing),
            (Gate::Open, _) => Some(Stand::Ready),
        },
        (Gate::Closed, reason) => is_failing(replica, reason).then_some(Stand::Failing),
    }
}

/// What its own rules say, unless its neighbours matter.
fn enforce(replica: &Replica, policy: &Fleet, spec: &Policy, now: Time) -> (Gate, Reason) {
    let own = own(replica, policy, spec);
    let is_in = replica.decided().is_open();
    let is_silent = matches!(own.1, Reason::NoBeat { .. });
    let held = |by| {
        let rule = RuleKind::Readiness;
        (Gate::Open, if is_silent { Reason::HeldWithoutBeat { by } } else { Reason::Held { rule, by } })
    };
    let neighbours = match own {
        (Gate::Closed, Reason::Failed { .. } | Reason::FailedOften { .. }) => policy
            .failed_dependency(replica)
            .or_else(|| policy.shared_failure(replica))
            .or_else(|| replica.decided().spared(replica.readiness_failures()))
            .or_else(|| policy.dependency_in_question(replica)),
        (Gate::Closed, _) if is_silent => policy.shared_failure(replica),
        (Gate::Closed | Gate::Open, _) => None,
    };
    if let Some(by) = neighbours.filter(|_| is_in) {
        return held(by);
    }
    let fails = own.0 == Gate::Closed && is_failing(replica, own.1);
    match policy.below_floor() {
        Some((WhenBelow::Hold, by)) if fails && is_in => held(by),
        Some((WhenBelow::Open, by)) if fails => held(by),
        Some((WhenBelow::Close, Obstacle::Floor { ready, floor })) if own.0 == Gate::Open => {
            (Gate::Closed, Reason::BelowFloor { ready, floor })
        }
        Some(_) => own,
        None => dwelt(replica, spec, own, now),
    }
}

/// What its own rules say, once the gate has stayed long enough where they turned it last.
fn dwelt(replica: &Replica, spec: &Policy, own: (Gate, Reason), now: Time) -> (Gate, Reason) {
    let Some((settings, (gate, _))) = spec.dwell.as_ref().zip(replica.decided().held()) else { return own };
    if gate == own.0 || !own.1.was_heard() {
        return own;
    }
    let rule = RuleKind::Readiness;
    match (replica.decided().stays(gate, settings, now), gate) {
        (None, _) => own,
        (Some((_, span)), Gate::Open) => (Gate::Open, Reason::Held { rule, by: Obstacle::Dwell { span } }),
        (Some((_, span)), Gate::Closed) => (Gate::Closed, Reason::Dwells { rule, span }),
    }
}

/// A rule that failed keeps it out, not that it is starting or down.
fn is_failing(replica: &Replica, reason: Reason) -> bool {
    let fails = matches!(
        reason,
        Reason::Failed { .. }
            | Reason::FailedOften { .. }
            | Reason::NoBeat { .. }
            | Reason::Held { by: Obstacle::GaveUp { .. }, .. }
    );
    replica.is_started() && fails
}

fn own(replica: &Replica, policy: &Fleet, spec: &Policy) -> (Gate, Reason) {
    if !replica.is_running() {
        return (Gate::Closed, Reason::NotRunning);
    }
    if let Some(by @ Obstacle::GaveUp { .. }) = replica.obstacle
        && let Some(rule) = replica.wants_restart(spec)
    {
        return (Gate::Closed, Reason::Held { rule, by });
    }
    if replica.judges.startup.is_some() && !replica.is_started() {
        let is_spared = replica.decided().is_open() && !policy.ever_passed.startup;
        return if is_spared { never_passed(RuleKind::Startup) } else { (Gate::Closed, Reason::Starting) };
    }
    let asked = by_readiness(replica, policy, spec);
    match &replica.pulse {
        Some(pulse) => by_beats(replica, policy, pulse, asked),
        None => asked,
    }
}

fn by_readiness(replica: &Replica, policy: &Fleet, spec: &Policy) -> (Gate, Reason) {
    let (Some(readiness), Some(rule)) = (&replica.judges.readiness, spec.rule(RuleKind::Readiness)) else {
        let problem = |rule| replica.problem(rule).map(|problem| Reason::Unusable { rule, problem });
        let reason = problem(RuleKind::Readiness).or_else(|| problem(RuleKind::Startup)).unwrap_or(Reason::NoRule);
        return (Gate::Open, reason);
    };
    match (readiness.verdict, readiness.proof) {
        (Some(Opinion::Good), _) => {
            (Gate::Open, Reason::Passed { rule: RuleKind::Readiness, streak: readiness.passes })
        }
        (_, Proof::Awaited) => (Gate::Open, Reason::AwaitsTurn { rule: RuleKind::Readiness }),
        (Some(Opinion::Bad), _) if replica.decided().is_open() && !policy.ever_passed.readiness => {
            never_passed(RuleKind::Readiness)
        }
        (Some(Opinion::Bad), _) => (Gate::Closed, readiness.failed(RuleKind::Readiness, rule)),
        (None, Proof::Preparing) => (Gate::Closed, Reason::Preparing { rule: RuleKind::Readiness }),
        // That it was given up, or silent, says nothing any more.
        (None, Proof::Given) => match replica.decided().held() {
            Some((Gate::Closed, Reason::NoBeat { .. } | Reason::NoBeatYet | Reason::Deregistered))
            | Some((Gate::Closed, Reason::Held { by: Obstacle::GaveUp { .. }, .. }))
            | None => (Gate::Closed, Reason::NotJudged),
            // Nor does what it waited for, or was out for: the next failure waits for the next answer.
            Some((gate, Reason::AwaitsTurn { .. } | Reason::Preparing { .. })) => (gate, Reason::NotJudged),
            Some((gate, reason)) if reason.dependency().is_some() => (gate, Reason::NotJudged),
            Some(held) => held,
        },
    }
}

/// A rule that nobody has passed yet ejects nobody who is in.
fn never_passed(rule: RuleKind) -> (Gate, Reason) {
    (Gate::Open, Reason::Held { rule, by: Obstacle::NeverPassed })
}

/// What the beats say, beside what the readiness rule does: either keeps it out.
fn by_beats(replica: &Replica, policy: &Fleet, pulse: &Pulse, asked: (Gate, Reason)) -> (Gate, Reason) {
    let is_in = replica.decided().is_open();
    let is_missing = pulse.presence() == Presence::Missing && (is_in || replica.is_started());
    if pulse.presence() == Presence::Deregistered {
        (Gate::Closed, Reason::Deregistered)
    } else if is_missing && policy.ever_beat {
        (Gate::Closed, Reason::NoBeat { time_to_live: pulse.time_to_live })
    } else if asked.0 == Gate::Closed {
        asked
    } else if is_missing && is_in {
        (Gate::Open, Reason::HeldWithoutBeat { by: Obstacle::NeverPassed })
    } else if !pulse.has_beaten() && !is_in {
        (Gate::Closed, Reason::NoBeatYet)
    } else if pulse.has_beaten() && asked.1 == Reason::NoRule {
        (Gate::Open, Reason::Beating)
    } else {
        asked
    }
}

/// Notes the decision, and tells it when it changes something.
fn hold(
    replica: &mut Replica,
    policy: Option<PolicyKey>,
    gate: Gate,
    reason: Reason,
    now: Time,
    recorder: &mut Recorder<'_>,
) {
    let failures = replica.readiness_failures();
    let keeper = &mut replica.gate;
    if keeper.stance.take(gate, reason, failures) {
        let kind = match gate {
            Gate::Open => TransitionKind::Admitted,
            Gate::Closed => TransitionKind::Ejected,
        };
        let transition = recorder.record(policy, replica.key, now, kind, reason);
        keeper.flip = Some(Flip { transition, gate, published: None });
    }
}

/// Notes that the pool has followed a published flip.
fn follow(gate: &mut GateKeeper, ready: Readiness, now: Time, recorder: &mut Recorder<'_>) {
    let followed = |flip: &mut Flip| {
        let wanted = match flip.gate {
            Gate::Open => Readiness::Ready,
            Gate::Closed => Readiness::NotReady,
        };
        flip.published.is_some() && ready == wanted
    };
    if let Some(flip) = gate.flip.take_if(followed) {
        recorder.push(Effect::Took { transition: flip.transition, at: now });
    }
}

fn write(
    replica: &mut Replica,
    policy: Option<&Fleet>,
    writes: Option<&mut Writes>,
    now: Time,
    recorder: &mut Recorder<'_>,
) {
    replica.gate.retry.take_if(|at| *at <= now);
    if replica.seen.lifecycle == Lifecycle::Terminating {
        return;
    }
    let verdict @ Verdict { started, .. } = replica.verdict(policy.and_then(|policy| policy.spec.as_deref()));
    let (gate, reason) = match (replica.seen.gate, replica.gate.held()) {
        (GateSeen::Ungated, _) if started.is_some() => (None, Reason::NoRule),
        (GateSeen::Unset | GateSeen::Set(_), Some((gate, reason))) => (Some(gate), reason),
        (GateSeen::Ungated, _) | (GateSeen::Unset | GateSeen::Set(_), None) => {
            (replica.gate.turn, replica.gate.unwritten) = (None, None);
            return;
        }
    };
    let keeper = &mut replica.gate;
    keeper.wanted = Some(Written { gate, started });
    // A gate that was never written keeps the pod out all the same.
    let needless = replica.seen.gate == GateSeen::Unset && reason == Reason::NotRunning;
    if needless || keeper.written == keeper.wanted {
        (keeper.turn, keeper.unwritten) = (None, None);
        return;
    }
    keeper.unwritten.get_or_insert(now);
    if keeper.in_flight.is_some() || keeper.retry.is_some() {
        return;
    }
    let ejects = gate == Some(Gate::Closed) && replica.seen.ready == Readiness::Ready;
    let urgency = if ejects { Urgency::Ejection } else { Urgency::Other };
    keeper.turn = writes.and_then(|writes| writes.take(urgency, keeper.turn, now).err());
    if keeper.turn.is_some() {
        return;
    }
    keeper.in_flight = keeper.wanted;
    recorder.push(Effect::SetGate { replica: replica.key, gate, verdict, reason });
}
