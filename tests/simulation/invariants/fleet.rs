//! What holds of a policy's replicas together: how they are judged, the breaker, the floor, the gates.

use probe_policy::engine::{
    BreakerReport, Evidence, Failure, FloorReport, Gate, Lifecycle, Mode, Obstacle, OutcomeClass, Policy, Pool, Reason,
    ReplicaKey, RuleKind, SharedFailure, Time, Transition, Trial, WhenBelow,
};

use super::super::reference::Naive;
use super::{Around, Fleet, Member, Own, amount};

impl Fleet<'_> {
    pub(super) fn member(&self, replica: ReplicaKey) -> Option<&Member<'_>> {
        self.members.iter().find(|member| member.pod.key == replica)
    }

    /// The engine holds what the list of answers comes to.
    pub(super) fn check_judgements(&self) {
        for Member { naive, pod, report, .. } in &self.members {
            for kind in RuleKind::ALL {
                let expected = self.spec.rule(kind).map(|_| naive.judgement(kind).fails);
                assert_eq!(report.streaks[kind], expected, "[streak] the {kind} rule of {pod:?}");
            }
        }
        let report = self.report;
        assert!(report.failing <= report.suspect && report.suspect + report.starting <= report.replicas, "[counts]");
    }

    /// So many replicas are liveness suspects that a breaker is open.
    pub(super) fn opens(&self) -> bool {
        let latest = |member: &Member<'_>| member.naive.liveness(self.spec, member.pod);
        let (suspect, judged) = tally(self.members.iter().filter_map(latest));
        self.spec
            .fleet
            .breaker
            .is_some_and(|breaker| judged >= breaker.min_judged && suspect >= amount(breaker.open_at, judged).max(2))
    }

    /// It is open while so many are suspect, and for the cooldown after; no longer, and nothing else opens it.
    pub(super) fn check_breaker(&self, opens: bool, calm: Option<Time>, was_open: bool, now: Time) {
        let is_open = matches!(self.report.breaker, BreakerReport::Open { .. });
        assert!(is_open || !opens, "[breaker] closed, with so many suspect");
        let cooldown = self.spec.fleet.breaker.map(|breaker| breaker.cooldown);
        let cools = calm.zip(cooldown).is_some_and(|(calm, cooldown)| calm + cooldown > now);
        assert!(!is_open || opens || cools, "[breaker] open for nothing since {calm:?}");
        assert!(is_open || !(was_open && cools), "[breaker] closed before the cooldown was over");
    }

    /// Fewer replicas are let in by their own rules than the floor says, and a failing one is why.
    pub(super) fn is_short(&self) -> bool {
        let Some(floor) = self.spec.floor else { return false };
        let stands = |gate, why| {
            let is_so = |member: &&Member<'_>| {
                let is_live = member.pod.lifecycle == Lifecycle::Live;
                is_live && member.own.is_some_and(|(own, reason)| own == gate && (gate == Gate::Open || reason == why))
            };
            self.members.iter().filter(is_so).count() as u32
        };
        let (ready, failing) = (stands(Gate::Open, Own::Fine), stands(Gate::Closed, Own::Failing));
        self.spec.mode != Mode::Paused && failing > 0 && ready < amount(floor.min_ready, self.desired)
    }

    /// What its own rules say is known of every replica.
    pub(super) fn is_decided(&self) -> bool {
        let is_known = |own| !matches!(own, Own::Undecided | Own::Unproven);
        self.members.iter().all(|member| member.own.is_some_and(|(_, own)| is_known(own)))
    }

    pub(super) fn check_floor(&self, is_short: bool, enough: Option<Time>, now: Time) {
        if !self.is_decided() {
            return;
        }
        let is_below = matches!(self.report.floor, FloorReport::Below { .. });
        assert!(is_below || !is_short, "[floor] above, with so few ready");
        let cooldown = self.spec.floor.map(|floor| floor.cooldown);
        let cools = enough.zip(cooldown).is_some_and(|(enough, cooldown)| enough + cooldown > now);
        assert!(
            !is_below || is_short || cools,
            "[floor] {:?} for nothing since {enough:?}: {:?}",
            self.report.floor,
            self.members.iter().map(|member| member.own).collect::<Vec<_>>()
        );
    }

    /// Every gate stands where its own rules want it, but for what a fleet rule holds.
    pub(super) fn check_gates(&self) {
        for member in &self.members {
            let Member { naive, pod, report, before, .. } = member;
            if !Naive::is_gated(pod) {
                continue;
            }
            let before = before.map(|before| before.map(|(gate, _)| gate));
            let expected = match (self.spec.mode, self.spec.pool) {
                (Mode::Observe, _) | (Mode::Enforce, Pool::None) => Some(Some(Gate::Open)),
                (Mode::Paused, _) => {
                    before.map(|before| before.or(naive.is_running(pod, self.spec).then_some(Gate::Open)))
                }
                (Mode::Enforce, Pool::ReadinessGate | Pool::EndpointSlice) => {
                    member.check_enforced(self.spec);
                    continue;
                }
            };
            if let Some(expected) = expected {
                assert_eq!(report.gate.map(|(gate, _)| gate), expected, "[gate] {:?} of {pod:?}", report.gate);
            }
        }
    }

    /// Nobody is ejected for a failure that most share as it has it, nor below the floor.
    pub(super) fn check_ejection(&self, transition: &Transition, is_short: bool) {
        let Reason::Failed { rule: RuleKind::Readiness, .. } = transition.reason else { return };
        let latest = |member: &Member<'_>| member.naive.readiness(self.spec, member.pod);
        let own = self.member(transition.replica).and_then(latest).and_then(OutcomeClass::failure);
        let is_like = |failure: Failure| own.is_none_or(|own| failure.is_like(own));
        let judged = self.members.iter().filter_map(latest).count();
        let failures = self.members.iter().filter_map(latest).filter_map(OutcomeClass::failure);
        let failing = failures.filter(|failure| is_like(*failure)).count();
        let is_shared = failing >= 2 && 2 * failing > judged;
        let holds = self.spec.fleet.shared_failure == SharedFailure::Hold;
        assert!(!(holds && is_shared), "[shared] ejected for what {failing} of {judged} share");
        // A starting replica is in nobody's floor.
        let had_started = self.member(transition.replica).is_some_and(|member| member.naive.started);
        let is_known = self.members.iter().all(|member| member.own.is_some());
        let holds = self.spec.floor.is_some_and(|floor| floor.when_below != WhenBelow::Close);
        assert!(!(holds && is_short && had_started && is_known), "[floor] an ejection below the floor");
    }

    /// A restart is still asked for, and the breaker lets it through.
    pub(super) fn check_restart(&self, replica: ReplicaKey, rule: RuleKind) {
        let Member { naive, pod, report, .. } =
            self.member(replica).expect("[gone] a restart of a replica that is gone");
        assert!(naive.wants_restart(rule, self.spec, pod), "[evidence] the {rule} rule does not ask for it any more");
        match self.report.breaker {
            BreakerReport::Closed => {}
            BreakerReport::Open { trial, .. } => match trial {
                Trial::Helped => {}
                Trial::Runs { seat, .. } => assert_eq!(report.seat, Some(seat), "[breaker] a restart beside the trial"),
                Trial::Waits { .. } => panic!("[breaker] a restart while it is open"),
            },
        }
    }

    pub(super) fn count(&self, around: &mut Around<'_>) {
        let coverage = &mut *around.coverage;
        coverage.trials +=
            u64::from(matches!(self.report.breaker, BreakerReport::Open { trial: Trial::Runs { .. }, .. }));
        coverage.given_up += u64::from(self.report.gave_up > 0);
        for member in &self.members {
            match member.report.gate {
                Some((_, Reason::Held { by: Obstacle::Floor { .. }, .. })) => coverage.held_by_floor += 1,
                Some((_, Reason::Held { by: Obstacle::SharedFailure { .. }, .. })) => coverage.held_by_sharing += 1,
                Some(_) | None => {}
            }
        }
    }
}

impl Member<'_> {
    pub(super) fn check_enforced(&self, spec: &Policy) {
        let Some((own, why)) = self.own else { return };
        let (pod, gate) = (self.pod, self.report.gate);
        let closes = spec.floor.is_some_and(|floor| floor.when_below == WhenBelow::Close);
        let by = match gate {
            Some((gate, _)) if gate == own => return,
            Some((Gate::Closed, Reason::BelowFloor { .. })) => {
                assert!(closes, "[gate] closed below a floor that does not close: {pod:?}");
                return;
            }
            // It was closed below the floor, and does not come back before it passes.
            Some((Gate::Closed, _)) if closes && why == Own::Unproven => return,
            Some((Gate::Open, Reason::Held { by: Obstacle::NeverPassed, .. })) => Obstacle::NeverPassed,
            Some((Gate::Open, Reason::Held { by, .. })) if matches!(why, Own::Failing | Own::FailingAtFirst) => by,
            Some(_) | None => panic!("[gate] {gate:?}, and its own rules say {own:?} ({why:?}): {pod:?}"),
        };
        let was_in = self.before.is_none_or(|before| before.is_some_and(|(gate, _)| gate == Gate::Open));
        let opens = spec.floor.is_some_and(|floor| floor.when_below == WhenBelow::Open);
        match by {
            Obstacle::NeverPassed => assert!(was_in || opens, "[gate] let in though nobody has passed: {pod:?}"),
            Obstacle::SharedFailure { .. } => {
                // Whoever was held stays so until it is asked again, also when an edit ends it.
                let was_held = |(_, reason)| matches!(reason, Reason::Held { by: Obstacle::SharedFailure { .. }, .. });
                let before = self.before.is_none_or(|before| before.is_some_and(was_held));
                let holds = before || spec.fleet.shared_failure == SharedFailure::Hold;
                assert!((was_in || opens) && holds, "[gate] let in for a shared failure: {pod:?}");
            }
            Obstacle::Floor { .. } => assert!(was_in || opens, "[gate] let in below the floor: {pod:?}"),
            _ => panic!("[gate] held by {by:?}: {pod:?}"),
        }
    }
}

/// How many of these failed, and how many they are.
pub(super) fn tally(latest: impl Iterator<Item = Evidence>) -> (u32, u32) {
    latest.fold((0, 0), |(failing, all), latest| (failing + u32::from(latest == Evidence::Fail), all + 1))
}
