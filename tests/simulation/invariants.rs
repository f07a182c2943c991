//! What holds after every step, whatever has happened: of the effects, and of what the engine reports.

mod dependencies;
mod fleet;
mod limits;
mod own;
mod parts;
mod turns;

use std::collections::{BTreeMap, VecDeque};

use probe_policy::engine::{
    Amount, BreakerReport, ContainerState, Effect, Gate, GateSeen, Incarnation, IntentId, Lifecycle, NodeState,
    OtherOwners, OwnerKey, OwnerKind, Place, Policy, PolicyReport, Presence, Reason, ReplicaKey, ReplicaReport,
    RuleKind, Slot, Span, Time, Transition, TransitionKind,
};

use super::cluster::{Pod, Restarted, Seating};
use super::controller::{Around, Controller, Role};
use super::edits::SHORTEST_DEADLINE;
use super::ledger::Terms;
use super::limits::Limits;
use super::reference::{Naive, has_rules, is_paused};
use own::{Judged, Own};
use parts::Parts;
use turns::Turned;

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
    parts: Parts,
    turns: BTreeMap<ReplicaKey, Turned>,
    presence: BTreeMap<ReplicaKey, Option<Presence>>,
    /// When gates were written.
    written: VecDeque<Time>,
}

/// What a policy keeps, as a controller was told.
struct Fleet<'a> {
    spec: &'a Policy,
    report: &'a PolicyReport,
    members: Vec<Member<'a>>,
    desired: u32,
    now: Time,
}

struct Member<'a> {
    naive: &'a Naive,
    pod: &'a Pod,
    report: &'a ReplicaReport,
    is_paused: bool,
    /// Where its own rules want its gate; `None` if that follows from what is not known here.
    own: Option<(Gate, Own)>,
    /// Where its gate stood before; `None` if that is not known here.
    before: Option<Option<(Gate, Reason)>>,
}

impl Controller {
    /// Panics if anything that must hold does not.
    pub fn check(&mut self, effects: &[Effect], around: &mut Around<'_>) {
        let now = self.time(around.now);
        if let Some((at, why)) = self.engine.next_deadline() {
            assert!(at > now, "[busy] still due after a poll: {why}");
        }
        for effect in effects {
            self.check_identity(effect, around.cluster.limits, now);
        }
        let mut written = std::mem::take(&mut self.history.written);
        let gates = effects.iter().filter(|effect| matches!(effect, Effect::SetGate { .. })).count();
        self.check_writes(&mut written, gates, around);
        self.agree(around);
        let report = self.report(around.now);
        if let Some((report, spec)) = report.as_ref().zip(self.spec.as_ref()) {
            let fleet = self.fleet(spec, report, effects, now);
            fleet.check_judgements();
            self.check_dependencies(report);
            for member in &fleet.members {
                self.check_excuse(member, effects, now);
            }
            fleet.check_presence();
            fleet.check_stretch(around);
            let parts = fleet.check_parts(&self.history.parts);
            let (opens, is_short) = (fleet.opens(), fleet.is_short());
            let calm = since(self.history.calm, !opens, now);
            let enough = since(self.history.enough, !is_short && fleet.is_decided(), now);
            fleet.check_breaker(opens, calm, self.history.was_open, now);
            fleet.check_floor(is_short, enough, now);
            fleet.check_gates();
            for effect in effects {
                match effect {
                    Effect::Record(transition) if transition.kind == TransitionKind::Ejected => {
                        self.check_silence(transition);
                        if let Some(member) = fleet.member(transition.replica) {
                            self.check_blame(transition, member);
                        }
                        fleet.check_ejection(transition, is_short, &self.history);
                        fleet.check_dwell(transition, &self.history);
                        fleet.check_turn(transition, &self.history);
                        around.coverage.missed += u64::from(matches!(transition.reason, Reason::NoBeat { .. }));
                        let is_often = matches!(transition.reason, Reason::FailedOften { .. });
                        around.coverage.failed_often += u64::from(is_often);
                    }
                    Effect::Record(transition) if transition.kind == TransitionKind::Admitted => {
                        fleet.check_dwell(transition, &self.history);
                    }
                    Effect::RecordIntent { intent, rule, .. } => {
                        self.check_decision(&fleet, intent.replica, *rule, around);
                    }
                    Effect::Restart { policy, replica, rule, incarnation, .. } => {
                        let intent = IntentId { policy: *policy, replica: *replica, incarnation: *incarnation };
                        assert!(self.acknowledged.contains(&intent), "[intent] a restart without its intent");
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
            let presence = fleet.members.iter().map(|member| (member.pod.key, member.report.presence)).collect();
            let turns = fleet.turns(&self.history);
            self.history = History { gates, calm, enough, was_open, parts, turns, presence, written: VecDeque::new() };
        }
        self.history.written = written;
        for effect in effects {
            if let Effect::Restart { replica, .. } = effect {
                self.acknowledged.retain(|intent| intent.replica != *replica);
            }
        }
    }

    /// No effect is for a container that is gone, or was never shown.
    fn check_identity(&self, effect: &Effect, limits: Limits, now: Time) {
        let shown = |replica: &ReplicaKey| self.shown.get(&replica.index).filter(|pod| pod.key == *replica);
        match effect {
            Effect::StartAttempt { attempt, incarnation, .. } => {
                let pod = shown(&attempt.replica).expect("[gone] an attempt at a replica that is gone");
                assert_eq!(pod.incarnation, *incarnation, "[gone] an attempt at another container");
                assert_eq!(pod.lifecycle, Lifecycle::Live, "[gone] an attempt at a pod that is being ended");
                let naive = &self.reference.replicas[&attempt.replica.index];
                let spec = self.spec.as_ref().expect("[gone] an attempt without a policy");
                assert!(
                    naive.may_ask(spec, pod, now)[attempt.rule],
                    "[turn] the {} rule must not ask now",
                    attempt.rule
                );
                let rule = spec.rule(attempt.rule).expect("[gone] an attempt of a rule that is gone");
                let most = rule.fast_period.map_or(1, |_| rule.failure_threshold.get() as usize);
                let under_way = naive.under_way(attempt.rule);
                assert!(under_way < most, "[turn] {under_way} attempts under way, and another begins");
                let waited = naive.asked(attempt.rule).map(|asked| now.since(asked) + LATE);
                // Where periods may be stretched, they may also shrink.
                let is_steady =
                    rule.fast_period.is_none() && rule.startup_period.is_none() && limits.attempts.is_none();
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
            Effect::AskDependency { attempt, .. } => self.check_question(*attempt, now),
            _ => {}
        }
    }

    /// The restart budget by which whoever leads goes.
    fn agree(&self, around: &mut Around<'_>) {
        if self.role == Role::Leader {
            let budget = self.spec.as_ref().and_then(|spec| spec.restart.budget);
            let terms = self.policy.zip(budget).map(|(policy, budget)| Terms { policy, budget, ahead: self.ahead });
            around.cluster.ledger.agree(terms, around.now);
        }
    }

    /// Nobody is ejected for a silence that was shorter than the time to live, or that we may only not have heard the
    /// end of, or where nobody has ever beaten.
    fn check_silence(&self, transition: &Transition) {
        if let Reason::NoBeat { .. } = transition.reason {
            let beats = self.reference.replicas[&transition.replica.index].beats;
            assert!(self.reference.ever_beat, "[beats] ejected for its silence where nobody beats");
            assert!(beats.is_some_and(|beats| beats.is_missing), "[beats] ejected too early: {beats:?}");
        }
    }

    /// A restart may be decided: a rule asks for it on evidence from this container, and nothing stands in its way.
    fn check_decision(&self, fleet: &Fleet<'_>, replica: ReplicaKey, rule: RuleKind, around: &Around<'_>) {
        let Fleet { spec, report, .. } = fleet;
        let member = fleet.member(replica).expect("[gone] a restart of a replica that is gone");
        let Member { naive, pod, .. } = *member;
        assert!(
            naive.wants_restart(rule, spec, pod, fleet.now),
            "[evidence] a restart that the {rule} rule does not ask for"
        );
        assert!(self.reference.ever_passed[rule], "[never passed] a restart for a rule that nobody has passed");
        self.check_blame_for_restart(naive, rule);
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
            self.check_past(fleet, pod, allowed, around);
        }
    }

    /// The seat's own past, and that of all others, as they were in truth.
    fn check_past(&self, fleet: &Fleet<'_>, pod: &Pod, allowed: u32, around: &Around<'_>) {
        let Around { cluster, now, .. } = around;
        if let Seating::Anywhere = cluster.seating {
            return;
        }
        // What was written by another clock tells this one nothing.
        let past = || cluster.restarted.iter().filter(|(_, past)| past.ahead == self.ahead);
        let is_under_way = |(index, past): &(&u32, &Restarted)| {
            !past.is_back && past.decided + SHORTEST_DEADLINE > *now && **index != pod.key.index
        };
        let under_way = past().filter(is_under_way).count() as u32;
        assert!(under_way < allowed, "[concurrent] {under_way} pods are not back, and {allowed} may be in a restart");
        if let Some((_, past)) = past().find(|(index, _)| **index == pod.key.index) {
            let backoff = fleet.spec.restart.backoff;
            let wait = backoff.initial.min(backoff.max).min(backoff.reset_after);
            assert!(past.decided + wait <= *now, "[backoff] {:?} after the last restart", now.since(past.decided));
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

    fn fleet<'a>(&'a self, spec: &'a Policy, report: &'a PolicyReport, effects: &[Effect], now: Time) -> Fleet<'a> {
        let mut members = Vec::new();
        for report in &report.replica_reports {
            let index = report.replica.index;
            let pod = self.shown.get(&index).filter(|pod| pod.key == report.replica).expect("[gone] reported");
            let naive = &self.reference.replicas[&index];
            let before = match self.history.gates.get(&pod.key) {
                Some((container, gate)) if *container == pod.incarnation => Some(*gate),
                // What is held of a container that no rule looked at is nobody's business.
                Some(_) if has_rules(spec) => Some(None),
                Some(_) | None => None,
            };
            let before = moved_first(effects, report).map_or(before, |moved| Some(Some(moved)));
            let gate_before = before.map(|before| before.map(|(gate, _)| gate));
            let own = self.own(&Judged { naive, pod, spec, report, before: gate_before });
            members.push(Member { naive, pod, report, is_paused: is_paused(spec, pod, now), own, before });
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
        Fleet { spec, report, members, desired: desired.values().sum(), now }
    }
}

/// Where a decision of this very poll moved a gate that another, of the fleet, was taken on.
fn moved_first(effects: &[Effect], report: &ReplicaReport) -> Option<(Gate, Reason)> {
    let (_, last) = report.gate?;
    effects.iter().find_map(|effect| match effect {
        Effect::Record(Transition { replica, kind, reason, .. })
            if *replica == report.replica && reason.name() != last.name() =>
        {
            match kind {
                TransitionKind::Admitted => Some((Gate::Open, *reason)),
                TransitionKind::Ejected => Some((Gate::Closed, *reason)),
                _ => None,
            }
        }
        _ => None,
    })
}

/// So many, or a share that is rounded down.
fn amount(amount: Amount, all: u32) -> u32 {
    match amount {
        Amount::Count(count) => count,
        Amount::Percent(percent) => all * percent / 100,
    }
}

/// Since when something is so.
fn since(before: Option<Time>, is_so: bool, now: Time) -> Option<Time> {
    is_so.then(|| before.unwrap_or(now))
}
