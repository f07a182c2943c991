//! Where a replica's gate should stand, and what is known of where it stands.

use super::fleet::{Fleet, Stand};
use super::judge::Opinion;
use super::record::Recorder;
use super::replica::Replica;
use super::{
    Effect, EffectResult, Gate, GateSeen, Incarnation, Lifecycle, Mode, Obstacle, Policy, PolicyKey, Pool, Readiness,
    Reason, Refusal, Remembered, RuleKind, Span, Time, TransitionId, TransitionKind, Verdict, WhenBelow,
};

/// How long no policy must select a replica until its gate is opened.
const RELEASE_AFTER: Span = Span::from_secs(30);
/// How long a written gate may go without effect on the pool until that is said.
const EFFECTIVE_WITHIN: Span = Span::from_secs(5);

/// What is known of a replica's gate.
#[derive(Clone, Debug, Default)]
pub(super) struct GateKeeper {
    /// What was decided for the present containers.
    held: Option<(Gate, Reason)>,
    /// How many failures in a row there were when last nobody was ejected for them, since they were shared.
    spared: u32,
    /// What was decided last, for whatever container.
    last: Option<Gate>,
    /// What the API server holds, as far as we know.
    written: Option<Written>,
    /// What it should hold, if anything.
    wanted: Option<Written>,
    in_flight: Option<Written>,
    refusals: u32,
    retry: Option<Time>,
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
        Self { held, last: gate, written, ..Self::default() }
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
        self.held = None;
    }

    /// Where the gate should stand, and why.
    pub(super) fn held(&self) -> Option<(Gate, Reason)> {
        self.held
    }

    /// Closed at the API server for a while, and the pool has not followed.
    pub(super) fn is_ejection_not_effective(&self, now: Time) -> bool {
        self.flip.is_some_and(|flip| {
            flip.gate == Gate::Closed && flip.published.is_some_and(|at| now.since(at) >= EFFECTIVE_WITHIN)
        })
    }

    /// What was decided is written or on its way, and depends on nobody else.
    pub(super) fn is_settled(&self) -> bool {
        let depends = matches!(self.held, Some((_, Reason::Held { .. } | Reason::BelowFloor { .. })));
        let overtaken = self.in_flight.is_some() && self.in_flight != self.wanted;
        !overtaken && self.retry.is_none() && !depends
    }

    /// When the gate of a replica that no policy has selected since then is opened, if it is not open.
    pub(super) fn release(&self, unselected: Option<Time>) -> Option<Time> {
        unselected.filter(|_| self.last != Some(Gate::Open)).map(|since| since + RELEASE_AFTER)
    }

    /// When the gate is to be written again.
    pub(super) fn retry(&self) -> Option<Time> {
        self.retry
    }
}

/// Decides the gate of a replica, and writes what is not written yet.
pub(super) fn step(
    replica: &mut Replica,
    policy_key: Option<PolicyKey>,
    policy: Option<&Fleet>,
    now: Time,
    recorder: &mut Recorder<'_>,
) {
    if let Some((gate, reason)) = decide(replica, policy, now) {
        hold(replica, policy_key, gate, reason, now, recorder);
    }
    follow(&mut replica.gate, replica.seen.ready, now, recorder);
    write(replica, policy, now, recorder);
}

/// Takes the answer to a gate write.
pub(super) fn wrote(replica: &mut Replica, result: EffectResult, now: Time, recorder: &mut Recorder<'_>) {
    let gate = &mut replica.gate;
    let Some(written) = gate.in_flight.take() else { return };
    match result {
        EffectResult::Applied => {
            (gate.written, gate.refusals, gate.retry) = (Some(written), 0, None);
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
        let since = replica.unselected?;
        return (now.since(since) >= RELEASE_AFTER).then_some((Gate::Open, Reason::NoPolicy));
    };
    let Some(spec) = &policy.spec else {
        return (replica.seen.gate == GateSeen::Unset).then_some((Gate::Open, Reason::InvalidPolicy));
    };
    match spec.mode {
        Mode::Observe => Some((Gate::Open, Reason::Observing)),
        Mode::Paused => (replica.gate.held.is_none() && replica.is_running()).then_some((Gate::Open, Reason::Paused)),
        Mode::Enforce => Some(match spec.pool {
            Pool::None => (Gate::Open, Reason::NoRule),
            Pool::ReadinessGate => enforce(replica, policy, spec),
        }),
    }
}

/// What a replica's own rules say of the pool; `None` if it has not started, does not run, or is being ended.
pub(super) fn stand(replica: &Replica, policy: &Fleet, spec: &Policy) -> Option<Stand> {
    if spec.mode != Mode::Enforce || !replica.is_live() {
        return None;
    }
    match own(replica, policy, spec) {
        (Gate::Open, _) => Some(Stand::Ready),
        (Gate::Closed, reason) => is_failing(replica, reason).then_some(Stand::Failing),
    }
}

/// What its own rules say, unless its neighbours matter.
fn enforce(replica: &Replica, policy: &Fleet, spec: &Policy) -> (Gate, Reason) {
    let own = own(replica, policy, spec);
    let is_in = replica.gate.held.is_some_and(|(gate, _)| gate == Gate::Open);
    let held = |by| (Gate::Open, Reason::Held { rule: RuleKind::Readiness, by });
    if let (Gate::Closed, Reason::Failed { streak, .. }) = own
        && let Some(by) = policy.shared_failure().or(spared(&replica.gate, streak)).filter(|_| is_in)
    {
        return held(by);
    }
    let fails = own.0 == Gate::Closed && is_failing(replica, own.1);
    match policy.below_floor() {
        Some((WhenBelow::Hold, by)) if fails && is_in => held(by),
        Some((WhenBelow::Open, by)) if fails => held(by),
        Some((WhenBelow::Close, Obstacle::Floor { ready, floor })) if own.0 == Gate::Open => {
            (Gate::Closed, Reason::BelowFloor { ready, floor })
        }
        Some(_) | None => own,
    }
}

/// What spoke against an ejection still does until it is asked again: when a shared failure ends, not all are asked at
/// the same instant.
fn spared(gate: &GateKeeper, streak: u32) -> Option<Obstacle> {
    match gate.held {
        Some((Gate::Open, Reason::Held { by: by @ Obstacle::SharedFailure { .. }, .. })) if gate.spared == streak => {
            Some(by)
        }
        Some(_) | None => None,
    }
}

/// A rule that failed keeps it out, not that it is starting or down.
fn is_failing(replica: &Replica, reason: Reason) -> bool {
    replica.is_started() && matches!(reason, Reason::Failed { .. } | Reason::Held { by: Obstacle::GaveUp { .. }, .. })
}

fn own(replica: &Replica, policy: &Fleet, spec: &Policy) -> (Gate, Reason) {
    let held = replica.gate.held.map(|(gate, _)| gate);
    let never_passed = |rule| (Gate::Open, Reason::Held { rule, by: Obstacle::NeverPassed });
    if !replica.is_running() {
        return (Gate::Closed, Reason::NotRunning);
    }
    if let Some(by @ Obstacle::GaveUp { .. }) = replica.obstacle
        && let Some(rule) = replica.wants_restart(spec)
    {
        return (Gate::Closed, Reason::Held { rule, by });
    }
    if replica.judges.startup.is_some() && !replica.is_started() {
        return match held {
            Some(Gate::Open) if !policy.ever_passed.startup => never_passed(RuleKind::Startup),
            Some(_) | None => (Gate::Closed, Reason::Starting),
        };
    }
    let (Some(readiness), Some(rule)) = (&replica.judges.readiness, spec.rule(RuleKind::Readiness)) else {
        let problem = |rule| replica.problem(rule).map(|problem| Reason::Unusable { rule, problem });
        let reason = problem(RuleKind::Readiness).or_else(|| problem(RuleKind::Startup)).unwrap_or(Reason::NoRule);
        return (Gate::Open, reason);
    };
    match readiness.verdict {
        Some(Opinion::Good) => (Gate::Open, Reason::Passed { rule: RuleKind::Readiness, streak: readiness.passes }),
        Some(Opinion::Bad) if held == Some(Gate::Open) && !policy.ever_passed.readiness => {
            never_passed(RuleKind::Readiness)
        }
        Some(Opinion::Bad) => (Gate::Closed, readiness.failed(RuleKind::Readiness, rule)),
        // That it was given up says nothing any more.
        None => match replica.gate.held {
            Some((Gate::Closed, Reason::Held { by: Obstacle::GaveUp { .. }, .. })) | None => {
                (Gate::Closed, Reason::NotJudged)
            }
            Some(held) => held,
        },
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
    let keeper = &mut replica.gate;
    if let Reason::Held { by: Obstacle::SharedFailure { .. }, .. } = reason {
        keeper.spared = replica.judges.readiness.as_ref().map_or(0, |judge| judge.fails);
    }
    // A streak that goes on is no news: the reason stays the one of the decision.
    if keeper.held.is_none_or(|(held, why)| held != gate || why.name() != reason.name()) {
        keeper.held = Some((gate, reason));
    }
    let known = keeper.last.replace(gate);
    if known == Some(gate) {
        return;
    }
    let kind = match gate {
        Gate::Open => TransitionKind::Admitted,
        Gate::Closed => TransitionKind::Ejected,
    };
    // A new replica that stays outside has not been ejected from anything.
    keeper.flip = (known.is_some() || gate == Gate::Open).then(|| {
        let transition = recorder.record(policy, replica.key, now, kind, reason);
        Flip { transition, gate, published: None }
    });
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

fn write(replica: &mut Replica, policy: Option<&Fleet>, now: Time, recorder: &mut Recorder<'_>) {
    replica.gate.retry.take_if(|at| *at <= now);
    if replica.seen.lifecycle == Lifecycle::Terminating {
        return;
    }
    let verdict @ Verdict { started, .. } = replica.verdict(policy.and_then(|policy| policy.spec.as_deref()));
    let (gate, reason) = match (replica.seen.gate, replica.gate.held) {
        (GateSeen::Ungated, _) if started.is_some() => (None, Reason::NoRule),
        (GateSeen::Unset | GateSeen::Set(_), Some((gate, reason))) => (Some(gate), reason),
        (GateSeen::Ungated, _) | (GateSeen::Unset | GateSeen::Set(_), None) => return,
    };
    let keeper = &mut replica.gate;
    keeper.wanted = Some(Written { gate, started });
    let waits = keeper.in_flight.is_some() || keeper.retry.is_some();
    // A gate that was never written keeps the pod out all the same.
    let needless = replica.seen.gate == GateSeen::Unset && reason == Reason::NotRunning;
    if waits || needless || keeper.written == keeper.wanted {
        return;
    }
    keeper.in_flight = keeper.wanted;
    recorder.push(Effect::SetGate { replica: replica.key, gate, verdict, reason });
}
