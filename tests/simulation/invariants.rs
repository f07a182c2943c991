//! What holds after every step, whatever has happened: of the effects, and of what the engine reports.

use std::collections::BTreeMap;

use probe_policy::engine::{
    Amount, BreakerReport, ContainerState, Effect, Evidence, FloorReport, Gate, GateSeen, Incarnation, Lifecycle, Mode,
    NodeState, Obstacle, OtherOwners, OwnerKey, OwnerKind, Place, Policy, PolicyReport, Pool, Reason, ReplicaKey,
    ReplicaReport, RuleKind, SharedFailure, Slot, Span, Time, Transition, TransitionKind, Trial, WhenBelow,
};

use super::cluster::{Cluster, Pod, Seating};
use super::controller::{Around, Controller, Role};
use super::edits::SHORTEST_DEADLINE;
use super::reference::Naive;

/// How late an attempt may begin, and so how much sooner than its period the next.
const LATE: Span = Span::from_secs(1);

/// What was so when it was checked last.
#[derive(Default)]
pub struct History {
    gates: BTreeMap<ReplicaKey, (Incarnation, Option<(Gate, Reason)>)>,
    /// Since when fewer are suspect than open the breaker.
    calm: Option<Time>,
    /// Since when enough are ready.
    enough: Option<Time>,
    /// The breaker was open.
    was_open: bool,
}

/// What a policy keeps, as a controller was told.
struct Fleet<'a> {
    spec: &'a Policy,
    report: &'a PolicyReport,
    members: Vec<Member<'a>>,
    desired: u32,
}

struct Member<'a> {
    naive: &'a Naive,
    pod: &'a Pod,
    report: &'a ReplicaReport,
    /// Where its own rules want its gate; `None` if that follows from what is not known here.
    own: Option<(Gate, Own)>,
    /// Where its gate stood before; `None` if that is not known here.
    before: Option<Option<(Gate, Reason)>>,
}

/// Why its own rules want a gate so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    /// It passes, or no rule says otherwise.
    Fine,
    /// A rule says otherwise, but nobody has passed that one.
    Unproven,
    /// It is down or starts.
    Absent,
    /// A rule fails.
    Failing,
    /// A rule fails that it has never passed, nor any other.
    FailingAtFirst,
    /// As before.
    Undecided,
}

impl Controller {
    /// Panics if anything that must hold does not.
    pub fn check(&mut self, effects: &[Effect], around: &mut Around<'_>) {
        let now = self.time(around.now);
        if let Some((at, why)) = self.engine.next_deadline() {
            assert!(at > now, "[busy] still due after a poll: {why}");
        }
        for effect in effects {
            self.check_identity(effect, now);
        }
        let report = self.report(around.now);
        if let Some((report, spec)) = report.as_ref().zip(self.spec.as_ref()) {
            let fleet = self.fleet(spec, report);
            fleet.check_judgements();
            let (opens, is_short) = (fleet.opens(), fleet.is_short());
            let calm = since(self.history.calm, !opens, now);
            let enough = since(self.history.enough, !is_short && fleet.is_decided(), now);
            fleet.check_breaker(opens, calm, self.history.was_open, now);
            fleet.check_floor(is_short, enough, now);
            fleet.check_gates();
            for effect in effects {
                match effect {
                    Effect::Record(transition) if transition.kind == TransitionKind::Ejected => {
                        fleet.check_ejection(transition, is_short);
                    }
                    Effect::RecordIntent { replica, rule, .. } => {
                        self.check_decision(&fleet, *replica, *rule, around);
                    }
                    Effect::Restart { replica, rule, .. } => {
                        assert!(self.acknowledged.contains(replica), "[intent] a restart without its intent");
                        fleet.check_restart(*replica, *rule);
                    }
                    _ => {}
                }
            }
            fleet.count(around);
            let gates =
                fleet.members.iter().map(|member| (member.pod.key, (member.pod.incarnation, member.report.gate)));
            let gates = gates.collect();
            let was_open = report.breaker != BreakerReport::Closed;
            self.history = History { gates, calm, enough, was_open };
        }
        for effect in effects {
            if let Effect::Restart { replica, .. } = effect {
                self.acknowledged.remove(replica);
            }
        }
    }

    /// No effect is for a container that is gone, or was never shown.
    fn check_identity(&self, effect: &Effect, now: Time) {
        let shown = |replica: &ReplicaKey| self.shown.get(&replica.index).filter(|pod| pod.key == *replica);
        match effect {
            Effect::StartAttempt { attempt, incarnation, .. } => {
                let pod = shown(&attempt.replica).expect("[gone] an attempt at a replica that is gone");
                assert_eq!(pod.incarnation, *incarnation, "[gone] an attempt at another container");
                assert_eq!(pod.lifecycle, Lifecycle::Live, "[gone] an attempt at a pod that is being ended");
                let naive = &self.reference.replicas[&attempt.replica.index];
                let spec = self.spec.as_ref().expect("[gone] an attempt without a policy");
                assert!(naive.may_ask(spec, pod)[attempt.rule], "[turn] the {} rule must not ask now", attempt.rule);
                let rule = spec.rule(attempt.rule).expect("[gone] an attempt of a rule that is gone");
                let most = rule.fast_period.map_or(1, |_| rule.failure_threshold.get() as usize);
                let under_way = naive.under_way(attempt.rule);
                assert!(under_way < most, "[turn] {under_way} attempts under way, and another begins");
                let waited = naive.asked(attempt.rule).map(|asked| now.since(asked) + LATE);
                let is_steady = rule.fast_period.is_none() && rule.startup_period.is_none();
                let is_early = waited.is_some_and(|waited| is_steady && waited < rule.period);
                assert!(!is_early, "[burst] the {} rule asks again after {waited:?}", attempt.rule);
            }
            Effect::SetGate { replica, gate, .. } => {
                let pod = shown(replica).expect("[gone] a gate of a replica that is gone");
                assert_eq!(pod.lifecycle, Lifecycle::Live, "[gone] a gate of a pod that is being ended");
                assert!(gate.is_none() || pod.gate != GateSeen::Ungated, "[gone] a gate that is not there");
            }
            Effect::Restart { replica, incarnation, .. } => {
                let pod = shown(replica).expect("[gone] a restart of a replica that is gone");
                assert_eq!(pod.incarnation, *incarnation, "[gone] a restart of another container");
                assert_eq!(pod.lifecycle, Lifecycle::Live, "[gone] a restart of a pod that is being ended");
            }
            _ => {}
        }
    }

    /// A restart may be decided: a rule asks for it on evidence from this container, and nothing stands in its way.
    fn check_decision(&self, fleet: &Fleet<'_>, replica: ReplicaKey, rule: RuleKind, around: &Around<'_>) {
        let Fleet { spec, report, .. } = fleet;
        let member = fleet.member(replica).expect("[gone] a restart of a replica that is gone");
        let Member { naive, pod, .. } = *member;
        assert!(naive.wants_restart(rule, spec, pod), "[evidence] a restart that the {rule} rule does not ask for");
        assert!(self.reference.ever_passed[rule], "[never passed] a restart for a rule that nobody has passed");
        let node = self.nodes.get(&pod.node);
        assert_ne!(node, Some(&NodeState::NotReady), "[node] a restart on a node that does not report");
        assert_ne!(pod.state, ContainerState::BackingOff, "[kubelet] a restart of a container that backs off");
        self.check_owner(fleet, pod);

        let seat = report.seats.iter().find(|seat| Some(seat.seat) == member.report.seat).expect("[seat] none");
        let limit = spec.restart.give_up_after.map_or(u32::MAX, |limit| limit.get());
        let futile = seat.memory.futile;
        assert!(futile < limit, "[efficacy] a restart after {futile} that did not help");
        let in_flight = report.seats.iter().filter(|seat| seat.memory.intent.is_some()).count() as u32;
        let allowed = amount(spec.restart.max_concurrent, fleet.desired).max(1);
        assert!(in_flight <= allowed, "[concurrent] {in_flight} seats in a restart, and {allowed} may be");
        if self.role == Role::Leader {
            check_past(around.cluster, pod, spec, allowed, around.now);
        }
    }

    /// Its owner will create it again.
    fn check_owner(&self, fleet: &Fleet<'_>, pod: &Pod) {
        let owner = self.owners[&pod.owner];
        let live = |member: &&Member<'_>| member.pod.owner == pod.owner && member.pod.lifecycle == Lifecycle::Live;
        let others = fleet.members.iter().filter(live).count() as u32 - 1;
        let wanted = match owner.kind {
            OwnerKind::Recreates | OwnerKind::RecreatesInOrder => owner.desired,
            OwnerKind::Other if fleet.spec.restart.other_owners == OtherOwners::Restart => others + 1,
            OwnerKind::OnDelete | OwnerKind::Job | OwnerKind::Other => {
                panic!("[owner] a restart that nobody would answer")
            }
        };
        assert!(others < wanted, "[owner] a restart although the owner wants {wanted} and has {others} others");
        let (OwnerKind::RecreatesInOrder, Place::Fixed(Slot::Ordinal(ordinal))) = (owner.kind, pod.place) else {
            return;
        };
        for lower in 0..ordinal {
            let member = fleet.members.iter().find(|member| member.pod.key.index == lower);
            let is_ready = member.is_some_and(|member| {
                let ready = member.pod.runs() && member.pod.gate == GateSeen::Set(Gate::Open);
                ready && member.pod.lifecycle == Lifecycle::Live
            });
            assert!(is_ready, "[owner] a restart of ordinal {ordinal} while {lower} is not Ready");
        }
    }

    fn fleet<'a>(&'a self, spec: &'a Policy, report: &'a PolicyReport) -> Fleet<'a> {
        let mut members = Vec::new();
        for report in &report.replica_reports {
            let index = report.replica.index;
            let pod = self.shown.get(&index).filter(|pod| pod.key == report.replica).expect("[gone] reported");
            let naive = &self.reference.replicas[&index];
            let before = match self.history.gates.get(&pod.key) {
                Some((container, gate)) if *container == pod.incarnation => Some(*gate),
                // What is held of a container that no rule looked at is nobody's business.
                Some(_) if RuleKind::ALL.iter().any(|kind| spec.rule(*kind).is_some()) => Some(None),
                Some(_) | None => None,
            };
            let own = self.own(naive, pod, spec, report, before.map(|before| before.map(|(gate, _)| gate)));
            members.push(Member { naive, pod, report, own, before });
        }
        let mut desired = BTreeMap::<OwnerKey, u32>::new();
        for member in &members {
            let owner = self.owners[&member.pod.owner];
            let is_live = u32::from(member.pod.lifecycle == Lifecycle::Live);
            match owner.kind {
                OwnerKind::Other => *desired.entry(member.pod.owner).or_default() += is_live,
                _ => drop(desired.insert(member.pod.owner, owner.desired)),
            }
        }
        Fleet { spec, report, members, desired: desired.values().sum() }
    }

    /// Where the rules of a replica want its gate while the policy enforces.
    fn own(
        &self,
        naive: &Naive,
        pod: &Pod,
        spec: &Policy,
        report: &ReplicaReport,
        before: Option<Option<Gate>>,
    ) -> Option<(Gate, Own)> {
        let stays_in =
            |kind: RuleKind| before.map(|before| before == Some(Gate::Open) && !self.reference.ever_passed[kind]);
        let has_rules = RuleKind::ALL.iter().any(|kind| spec.rule(*kind).is_some());
        if has_rules && !pod.runs() {
            return Some((Gate::Closed, Own::Absent));
        }
        if matches!(report.wants_restart, Some((_, Some(Obstacle::GaveUp { .. })))) {
            return Some((Gate::Closed, if naive.started { Own::Failing } else { Own::Absent }));
        }
        if spec.rule(RuleKind::Startup).is_some() && !naive.started {
            return stays_in(RuleKind::Startup).map(|stays| match stays {
                true => (Gate::Open, Own::Unproven),
                false => (Gate::Closed, Own::Absent),
            });
        }
        if spec.rule(RuleKind::Readiness).is_none() {
            return Some((Gate::Open, Own::Fine));
        }
        match naive.judgement(RuleKind::Readiness).verdict {
            Some(Evidence::Pass) => Some((Gate::Open, Own::Fine)),
            Some(_) => stays_in(RuleKind::Readiness).map(|stays| match stays {
                true => (Gate::Open, Own::Unproven),
                false => (Gate::Closed, if naive.started { Own::Failing } else { Own::FailingAtFirst }),
            }),
            None => before.map(|before| (before.unwrap_or(Gate::Closed), Own::Undecided)),
        }
    }
}

impl Fleet<'_> {
    fn member(&self, replica: ReplicaKey) -> Option<&Member<'_>> {
        self.members.iter().find(|member| member.pod.key == replica)
    }

    /// The engine holds what the list of answers comes to.
    fn check_judgements(&self) {
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
    fn opens(&self) -> bool {
        let latest = |member: &Member<'_>| member.naive.liveness(member.pod);
        let (suspect, judged) = tally(self.members.iter().filter_map(latest));
        self.spec
            .fleet
            .breaker
            .is_some_and(|breaker| judged >= breaker.min_judged && suspect >= amount(breaker.open_at, judged).max(2))
    }

    /// It is open while so many are suspect, and for the cooldown after; no longer, and nothing else opens it.
    fn check_breaker(&self, opens: bool, calm: Option<Time>, was_open: bool, now: Time) {
        let is_open = matches!(self.report.breaker, BreakerReport::Open { .. });
        assert!(is_open || !opens, "[breaker] closed, with so many suspect");
        let cooldown = self.spec.fleet.breaker.map(|breaker| breaker.cooldown);
        let cools = calm.zip(cooldown).is_some_and(|(calm, cooldown)| calm + cooldown > now);
        assert!(!is_open || opens || cools, "[breaker] open for nothing since {calm:?}");
        assert!(is_open || !(was_open && cools), "[breaker] closed before the cooldown was over");
    }

    /// Fewer replicas are let in by their own rules than the floor says, and a failing one is why.
    fn is_short(&self) -> bool {
        let Some(floor) = self.spec.floor else { return false };
        let stands = |gate, why| {
            let is_so = |member: &&Member<'_>| {
                let is_live = member.pod.lifecycle == Lifecycle::Live;
                is_live && member.own.is_some_and(|(own, reason)| own == gate && (gate == Gate::Open || reason == why))
            };
            self.members.iter().filter(is_so).count() as u32
        };
        let (ready, failing) = (stands(Gate::Open, Own::Fine), stands(Gate::Closed, Own::Failing));
        self.spec.mode == Mode::Enforce && failing > 0 && ready < amount(floor.min_ready, self.desired)
    }

    /// What its own rules say is known of every replica.
    fn is_decided(&self) -> bool {
        let is_known = |own| !matches!(own, Own::Undecided | Own::Unproven);
        self.members.iter().all(|member| member.own.is_some_and(|(_, own)| is_known(own)))
    }

    fn check_floor(&self, is_short: bool, enough: Option<Time>, now: Time) {
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
    fn check_gates(&self) {
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
                (Mode::Enforce, Pool::ReadinessGate) => {
                    member.check_enforced(self.spec);
                    continue;
                }
            };
            if let Some(expected) = expected {
                assert_eq!(report.gate.map(|(gate, _)| gate), expected, "[gate] {:?} of {pod:?}", report.gate);
            }
        }
    }

    /// Nobody is ejected for a failure that most share, nor below the floor.
    fn check_ejection(&self, transition: &Transition, is_short: bool) {
        let Reason::Failed { rule: RuleKind::Readiness, .. } = transition.reason else { return };
        let latest = |member: &Member<'_>| member.naive.readiness(self.spec, member.pod);
        let (failing, judged) = tally(self.members.iter().filter_map(latest));
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
    fn check_restart(&self, replica: ReplicaKey, rule: RuleKind) {
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

    fn count(&self, around: &mut Around<'_>) {
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
    fn check_enforced(&self, spec: &Policy) {
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
                let holds = spec.fleet.shared_failure == SharedFailure::Hold;
                assert!((was_in || opens) && holds, "[gate] let in for a shared failure: {pod:?}");
            }
            Obstacle::Floor { .. } => assert!(was_in || opens, "[gate] let in below the floor: {pod:?}"),
            _ => panic!("[gate] held by {by:?}: {pod:?}"),
        }
    }
}

/// The seat's own past, and that of all others, as they were in truth.
fn check_past(cluster: &Cluster, pod: &Pod, spec: &Policy, allowed: u32, now: Time) {
    if let Seating::Anywhere = cluster.seating {
        return;
    }
    let is_under_way = |(index, past): &(&u32, &super::cluster::Restarted)| {
        let is_back = cluster.pods.get(index).is_some_and(|pod| pod.key != past.replica);
        !is_back && past.decided + SHORTEST_DEADLINE > now && past.ahead == cluster.ahead && **index != pod.key.index
    };
    let under_way = cluster.restarted.iter().filter(is_under_way).count() as u32;
    assert!(under_way < allowed, "[concurrent] {under_way} pods are not back, and {allowed} may be in a restart");
    if let Some(past) = cluster.restarted.get(&pod.key.index).filter(|past| past.ahead == cluster.ahead) {
        let backoff = spec.restart.backoff;
        let wait = backoff.initial.min(backoff.max).min(backoff.reset_after);
        assert!(past.decided + wait <= now, "[backoff] {:?} after the last restart", now.since(past.decided));
    }
}

/// So many, or a share that is rounded down.
fn amount(amount: Amount, all: u32) -> u32 {
    match amount {
        Amount::Count(count) => count,
        Amount::Percent(percent) => all * percent / 100,
    }
}

/// How many of these failed, and how many they are.
fn tally(latest: impl Iterator<Item = Evidence>) -> (u32, u32) {
    latest.fold((0, 0), |(failing, all), latest| (failing + u32::from(latest == Evidence::Fail), all + 1))
}

/// Since when something is so.
fn since(before: Option<Time>, is_so: bool, now: Time) -> Option<Time> {
    is_so.then(|| before.unwrap_or(now))
}
