//! What holds of a policy's replicas together: how they are judged, the breaker, the floor, the gates.

use probe_policy::engine::{
    Among, BreakerReport, Evidence, Failure, FloorReport, Gate, Lifecycle, Mode, Obstacle, OnPolicyChange,
    OutcomeClass, Policy, Pool, Presence, Reason, ReplicaKey, RuleKind, SharedFailure, Time, Transition, Trial,
    WhenBelow,
};

use super::super::reference::{Naive, Proof};
use super::{Around, Fleet, History, Member, Own, amount};

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
        let counted = report.suspect + report.starting + report.paused;
        assert!(report.failing <= report.suspect && counted <= report.replicas, "[counts]");
    }

    /// Whoever is held for missing was silent for a time to live, and has not beaten since. That it may be given time
    /// anew, when what kept it in the pool ends, is not known here.
    pub(super) fn check_presence(&self) {
        for Member { naive, pod, report, .. } in &self.members {
            let Some((presence, beats)) = report.presence.zip(naive.beats) else {
                assert_eq!(report.presence.is_some(), naive.beats.is_some(), "[beats] of {pod:?}");
                continue;
            };
            let is_so = match presence {
                Presence::Missing => beats.is_missing,
                Presence::Late => !beats.has_deregistered,
                Presence::Awaited => beats.last.is_none() && !beats.is_missing && !beats.has_deregistered,
                Presence::Present => beats.last.is_some() && !beats.is_missing,
                Presence::Deregistered => beats.has_deregistered,
            };
            assert!(is_so, "[beats] {presence:?} and {beats:?} of {pod:?}");
        }
    }

    /// So many replicas are liveness suspects that a breaker is open.
    pub(super) fn opens(&self) -> bool {
        let latest = |member: &Member<'_>| member.naive.liveness(self.spec, member.pod, self.now);
        let (suspect, judged) = tally(self.members.iter().filter_map(latest).map(OutcomeClass::evidence));
        self.spec
            .fleet
            .breaker
            .is_some_and(|breaker| judged >= breaker.min_judged && suspect >= amount(breaker.open_at, judged).max(2))
    }

    /// It is open while so many are suspect, and for the cooldown after; no longer, and nothing else opens it.
    pub(super) fn check_breaker(&self, opens: bool, calm: Option<Time>, was_open: bool, now: Time) {
        let reported = matches!(self.report.breaker, BreakerReport::Open { .. });
        let cooldown = self.spec.fleet.breaker.map(|breaker| breaker.cooldown);
        let cools = calm.zip(cooldown).is_some_and(|(calm, cooldown)| calm + cooldown > now);
        is_open("the fleet", reported, opens, was_open, cools);
    }

    /// Fewer replicas are let in by their own rules than the floor says, and a failing one is why.
    pub(super) fn is_short(&self) -> bool {
        let Some(floor) = self.spec.floor else { return false };
        let stands = |gate, why| {
            let is_so = |member: &&Member<'_>| {
                let is_live = member.pod.lifecycle == Lifecycle::Live && !member.is_paused;
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
        let is_decided = |member: &Member<'_>| member.is_paused || member.own.is_some_and(|(_, own)| is_known(own));
        self.spec.dwell.is_none() && self.members.iter().all(is_decided)
    }

    pub(super) fn check_floor(&self, is_short: bool, enough: Option<Time>, now: Time) {
        if !self.is_decided() {
            return;
        }
        let is_below = matches!(self.report.floor, FloorReport::Below { .. });
        assert!(is_below || !is_short, "[floor] above, with so few ready");
        let cooldown = self.spec.floor.map(|floor| floor.cooldown);
        let cools = enough.zip(cooldown).is_some_and(|(enough, cooldown)| enough + cooldown > now);
        // Whoever was missing for an instant, until a shared silence ended, is not known here.
        let cools = cools || self.spec.heartbeat.is_some();
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
                (Mode::Observe, _) => Some(Some(Gate::Open)),
                (Mode::Paused | Mode::Enforce, _) if member.is_paused => {
                    before.map(|before| before.or(naive.is_running(pod, self.spec).then_some(Gate::Open)))
                }
                (Mode::Paused | Mode::Enforce, Pool::None) => Some(Some(Gate::Open)),
                (Mode::Paused | Mode::Enforce, Pool::ReadinessGate | Pool::EndpointSlice) => {
                    member.check_proof(self.spec);
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
    pub(super) fn check_ejection(&self, transition: &Transition, is_short: bool, history: &History) {
        let rule = match transition.reason {
            Reason::Failed { rule, .. } | Reason::FailedOften { rule, .. } => Some(rule),
            Reason::NoBeat { .. } => None,
            _ => return,
        };
        assert_ne!(rule, Some(RuleKind::Startup), "[gate] ejected for its startup rule");
        // Whose silence came to something at this very instant may have been looked at before or after.
        let is_quiet = |member: &Member<'_>| history.presence.get(&member.pod.key) == Some(&member.report.presence);
        if self.spec.heartbeat.is_some() && !self.members.iter().all(is_quiet) {
            return;
        }
        let latest = |member: &Member<'_>| member.readiness(self.spec, self.now);
        let own = self.member(transition.replica).and_then(latest).and_then(OutcomeClass::failure);
        let is_like = |failure: Failure| own.is_none_or(|own| failure.is_like(own));
        let judged = self.members.iter().filter_map(latest).count();
        let failures = self.members.iter().filter_map(latest).filter_map(OutcomeClass::failure);
        let failing = failures.filter(|failure| is_like(*failure)).count();
        let member = self.member(transition.replica).expect("[gone] an ejection of a replica that is gone");
        let is_theirs = self.is_of_revision(Some(member.pod.revision), latest);
        let is_shared = (failing >= 2 && 2 * failing > judged && !is_theirs) || self.is_cut(member.pod.node, latest);
        let holds = self.spec.fleet.shared_failure == SharedFailure::Hold;
        assert!(!(holds && is_shared), "[shared] ejected for what {failing} of {judged} share");
        // A starting replica is in nobody's floor.
        let had_started = self.member(transition.replica).is_some_and(|member| member.naive.started);
        let is_known = self.members.iter().all(|member| member.own.is_some() || member.is_paused);
        let is_known = is_known && self.spec.dwell.is_none();
        let holds = self.spec.floor.is_some_and(|floor| floor.when_below != WhenBelow::Close);
        assert!(!(holds && is_short && had_started && is_known), "[floor] an ejection below the floor");
    }

    /// A restart is still asked for, and the breaker lets it through.
    pub(super) fn check_restart(&self, replica: ReplicaKey, rule: RuleKind) {
        let Member { naive, pod, report, .. } =
            self.member(replica).expect("[gone] a restart of a replica that is gone");
        self.check_trials(replica);
        assert!(
            naive.wants_restart(rule, self.spec, pod, self.now),
            "[evidence] the {rule} rule does not ask for it any more"
        );
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
        coverage.rolled += u64::from(self.report.awaiting > 0);
        coverage.prepared += u64::from(self.report.preparing > 0);
        coverage.paused += u64::from(self.report.paused > 0);
        for member in &self.members {
            match member.report.wants_restart {
                Some((_, Some(Obstacle::Breaker { among, .. }))) if among != Among::Fleet => {
                    coverage.shared_restarts += 1;
                }
                Some((_, Some(Obstacle::RestartBudget { .. }))) => coverage.over_budget += 1,
                Some((_, Some(Obstacle::DependencyDown { .. }))) => coverage.blameless += 1,
                Some(_) | None => {}
            }
            match member.report.gate {
                Some((_, Reason::HeldWithoutBeat { .. })) => coverage.held_in_silence += 1,
                Some((_, Reason::Dwells { .. } | Reason::Held { by: Obstacle::Dwell { .. }, .. })) => {
                    coverage.dwelt += 1
                }
                Some((_, Reason::Held { by: Obstacle::Floor { .. }, .. })) => coverage.held_by_floor += 1,
                Some((_, Reason::Held { by: Obstacle::SharedFailure { .. }, .. })) => coverage.held_by_sharing += 1,
                Some((_, Reason::Held { by: Obstacle::DependencyDown { .. }, .. })) => coverage.held_by_dependency += 1,
                Some((_, Reason::Held { by: Obstacle::DependencyAsked { .. }, .. })) => coverage.asked_first += 1,
                Some(_) | None => {}
            }
        }
    }
}

impl Member<'_> {
    /// How it counts where failures are compared: what it was asked and what it has said.
    fn readiness(&self, spec: &Policy, now: Time) -> Option<OutcomeClass> {
        let asked = self.naive.readiness(spec, self.pod, now);
        let Some(presence) = self.report.presence else { return asked };
        if asked.is_some_and(|asked| asked.evidence() == Evidence::Fail) {
            return asked;
        }
        let counts = self.naive.started && self.pod.runs() && !self.is_paused;
        match presence {
            _ if !counts || self.pod.lifecycle == Lifecycle::Terminating => None,
            Presence::Late | Presence::Missing => Some(OutcomeClass::NoResponse),
            Presence::Present if spec.rule(RuleKind::Readiness).is_none() => Some(OutcomeClass::Passed),
            Presence::Present => asked,
            Presence::Awaited | Presence::Deregistered => None,
        }
    }

    /// It is held against what an edit asks only if there was one.
    fn check_proof(&self, spec: &Policy) {
        let proof = self.naive.judgement(RuleKind::Readiness).proof;
        match self.report.gate {
            Some((_, Reason::Preparing { .. })) => assert_ne!(proof, Proof::Given, "[proof] {:?}", self.pod),
            Some((_, Reason::AwaitsTurn { .. })) => {
                assert_eq!(proof, Proof::Unknown, "[proof] {:?}", self.pod);
                assert_eq!(spec.on_policy_change, OnPolicyChange::Rolling, "[proof] {:?}", self.pod);
            }
            Some(_) | None => {}
        }
    }

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
            Some((Gate::Open, Reason::Held { by, .. } | Reason::HeldWithoutBeat { by }))
                if matches!(why, Own::Failing | Own::FailingAtFirst) =>
            {
                by
            }
            // Whether it was in when it was to beat first is not always known here.
            Some((Gate::Closed, Reason::NoBeatYet)) if self.report.presence != Some(Presence::Present) => return,
            Some((Gate::Closed, Reason::Dwells { .. })) => {
                let was_out = self.before.is_none_or(|before| before.is_none_or(|(gate, _)| gate == Gate::Closed));
                assert!(was_out && spec.dwell.is_some(), "[gate] taken out though it passes: {pod:?}");
                return;
            }
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
            Obstacle::Dwell { .. } => assert!(was_in && spec.dwell.is_some(), "[gate] let in to stay: {pod:?}"),
            Obstacle::Floor { .. } => assert!(was_in || opens, "[gate] let in below the floor: {pod:?}"),
            Obstacle::DependencyDown { .. } | Obstacle::DependencyAsked { .. } => {
                assert!(was_in || opens, "[gate] let in for a dependency: {pod:?}");
            }
            _ => panic!("[gate] held by {by:?}: {pod:?}"),
        }
    }
}

/// A breaker is open while so many fail, and for the cooldown after; no longer, and nothing else opens it.
pub(super) fn is_open(of: &str, reported: bool, opens: bool, was_open: bool, cools: bool) {
    assert!(reported || !opens, "[breaker] that of {of} is closed, with so many suspect");
    assert!(!reported || opens || cools, "[breaker] that of {of} is open for nothing");
    assert!(reported || !(was_open && cools), "[breaker] that of {of} closed before the cooldown was over");
}

/// How many of these failed, and how many they are.
pub(super) fn tally(latest: impl Iterator<Item = Evidence>) -> (u32, u32) {
    latest.fold((0, 0), |(failing, all), latest| (failing + u32::from(latest == Evidence::Fail), all + 1))
}
