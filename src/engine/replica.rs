//! One replica: what was seen of it, what its rules hold of it, and when they ask next.

use super::agenda::{NEVER, Wake};
use super::ceiling::Rate;
use super::fleet::{Compared, Edition};
use super::foreseen::Foreseen;
use super::gate::{GateKeeper, RELEASE_AFTER};
use super::judge::Judge;
use super::proof::Proof;
use super::pulse::Pulse;
use super::seat::StageOfLife;
use super::{
    Container, ContainerState, Evidence, GateSeen, Incarnation, Lifecycle, Observation, Obstacle, OutcomeClass, Pause,
    PerRule, Place, Policy, PolicyKey, Presence, ReplicaKey, ReplicaState, RuleKind, SeatKey, Stretch, Target,
    TargetProblem, Time, Verdict,
};

/// One replica.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) key: ReplicaKey,
    pub(super) seen: Observation,
    /// Apart, as is the pulse, since they are large and few policies have all rules.
    pub(super) judges: PerRule<Option<Box<Judge>>>,
    pub(super) pulse: Option<Box<Pulse>>,
    pub(super) gate: GateKeeper,
    /// What enforcing would have made of it; only while its policy observes.
    pub(super) foreseen: Option<Box<Foreseen>>,
    /// The seat, where the owner gives none but the engine did, among those of that policy.
    assigned: Option<(PolicyKey, SeatKey)>,
    /// What last stood in the way of a restart, so that it is told once.
    pub(super) obstacle: Option<Obstacle>,
    /// When its gate is opened since no policy selects it.
    pub(super) release: Option<Time>,
    /// Why it is let alone, as of when it was last reconciled.
    pub(super) pause: Option<Pause>,
    /// How it is counted among the standings of its fleet.
    pub(super) compared: Compared,
    /// To look at it would do nothing but start attempts, until something happens to it.
    pub(super) is_settled: bool,
    /// How often its rules ask, as it is counted under the ceiling on attempts.
    pub(super) rate: Rate,
    /// The policy's spec and the stretch that the judges are in line with; `None` when something was seen since.
    pub(super) reconciled_with: Option<(Edition, Stretch)>,
    /// The lead container that has finished starting.
    pub(super) started: Option<Incarnation>,
    /// When its startup rule passed, if we saw that.
    pub(super) started_at: Option<Time>,
    /// The lead container that was last seen running.
    ran: Option<Incarnation>,
    pub(super) last_down: PerRule<Option<Time>>,
    pub(super) serials: PerRule<u32>,
}

/// Why a container is another than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not.
    Same,
    /// The replica's container was replaced in place, after it had finished starting or before.
    Replaced(StageOfLife),
}

impl Replica {
    /// A replica seen for the first time; a remembered verdict on its present container is taken over.
    pub(super) fn new(key: ReplicaKey, seen: Observation, now: Time) -> Self {
        let mut replica = Self {
            key,
            gate: GateKeeper::found(seen.gate, None),
            foreseen: None,
            judges: PerRule::default(),
            pulse: None,
            assigned: None,
            obstacle: None,
            release: seen.policy.is_none().then_some(now + RELEASE_AFTER),
            pause: None,
            compared: Compared::default(),
            is_settled: false,
            rate: Rate::default(),
            reconciled_with: None,
            started: None,
            started_at: None,
            ran: None,
            last_down: PerRule::default(),
            serials: PerRule::default(),
            seen,
        };
        if let Some(lead) = replica.lead().copied()
            && let Some(remembered) = lead.remembered
        {
            replica.started = remembered.started.then_some(lead.incarnation);
            replica.gate = GateKeeper::found(replica.seen.gate, Some((lead.incarnation, remembered)));
        }
        replica.note_state(now);
        replica
    }

    /// Takes a newer observation.
    pub(super) fn observe(&mut self, seen: Observation, now: Time) -> Change {
        let (ran, containers) = (self.ran, self.containers());
        let stage = if self.started == ran { StageOfLife::Started } else { StageOfLife::Starting };
        let beating = self.beating().map(|container| container.incarnation);
        self.release = match seen.policy {
            Some(_) => None,
            None => self.release.or(Some(now + RELEASE_AFTER)),
        };
        self.seen = seen;
        (self.is_settled, self.reconciled_with) = (false, None);
        self.note_state(now);
        self.gate.observe(self.seen.gate);
        let is_another =
            |was: Option<Incarnation>, is: Option<Incarnation>| was.zip(is).is_some_and(|(was, is)| was != is);
        let asked = RuleKind::ALL.into_iter().any(|kind| is_another(containers[kind], self.containers()[kind]));
        if asked || is_another(beating, self.beating().map(|container| container.incarnation)) {
            self.gate.forget();
            self.obstacle = None;
            if let Some(foreseen) = &mut self.foreseen {
                foreseen.forget();
            }
        }
        if ran.is_some() && ran != self.ran { Change::Replaced(stage) } else { Change::Same }
    }

    /// The rule whose streak asks for a restart, with its failures in a row.
    pub(super) fn wants_restart(&self, policy: &Policy) -> Option<RuleKind> {
        let fails = |kind| {
            self.judges[kind].as_ref().zip(policy.rule(kind)).is_some_and(|(judge, rule)| judge.is_failing(rule))
        };
        let restarting = [RuleKind::Startup, RuleKind::Liveness];
        if !restarting.into_iter().any(fails) {
            return None;
        }
        let may_ask = self.may_ask();
        restarting.into_iter().find(|kind| may_ask[*kind] && fails(*kind))
    }

    /// Its startup rule has passed, or, without one, any rule has.
    pub(super) fn is_started(&self) -> bool {
        self.started.is_some_and(|started| self.is_led_by(started))
    }

    /// It is started, and the latest attempt of each rule that judges it now passed.
    pub(super) fn is_judged_well(&self) -> bool {
        self.seen.lifecycle == Lifecycle::Live
            && (self.is_started() || self.lead().is_none())
            && [RuleKind::Liveness, RuleKind::Readiness]
                .iter()
                .all(|kind| self.judges[*kind].as_ref().is_none_or(|judge| judge.passes > 0))
            && self.pulse.as_ref().is_none_or(|pulse| pulse.evidence() == Some(Evidence::Pass))
    }

    /// What the latest attempt of the readiness rule and the latest beat came to; `None` while these rules do not judge
    /// the replica: it is starting, down, paused or being ended, or has no finished attempt.
    pub(super) fn readiness(&self) -> Option<OutcomeClass> {
        let asked = self.latest(RuleKind::Readiness).filter(|_| self.is_started() || self.startup_rule_is_absent());
        if self.pulse.is_none() {
            return asked;
        }
        match (&self.judges.readiness, asked, self.beats().filter(|_| self.is_followed() && self.is_running())) {
            (_, Some(failed), _) if failed.failure().is_some() => Some(failed),
            (_, _, Some(Evidence::Fail)) => Some(OutcomeClass::NoResponse),
            (Some(_), None, _) | (_, _, None | Some(Evidence::Nothing)) => None,
            (_, _, Some(Evidence::Pass)) => Some(OutcomeClass::Passed),
        }
    }

    /// How its beats, or their absence, count; `None` while they do not.
    pub(super) fn beats(&self) -> Option<Evidence> {
        self.pulse.as_ref().filter(|_| self.is_started()).and_then(|pulse| pulse.evidence())
    }

    /// What the latest attempt of the liveness rule came to; `None` while that rule does not judge the replica. Without
    /// a startup rule it is starting until a rule has passed.
    pub(super) fn liveness(&self) -> Option<OutcomeClass> {
        self.latest(RuleKind::Liveness).filter(|_| self.is_started())
    }

    fn latest(&self, kind: RuleKind) -> Option<OutcomeClass> {
        let container = self.container(kind).filter(|container| runs(container.state))?;
        let judge = self.judges[kind].as_ref().filter(|judge| judge.container == container.incarnation)?;
        judge.last.filter(|_| self.is_followed())
    }

    /// How far it is with what readiness asks since an edit.
    pub(super) fn proof(&self) -> Proof {
        self.judges.readiness.as_ref().filter(|_| self.is_live()).map_or(Proof::Given, |judge| judge.proof)
    }

    /// The oldest generation of the spec under which a rule of it was heard last; `None` while one was not heard at all.
    pub(super) fn applied(&self, policy: &Policy) -> Option<i64> {
        let asked = RuleKind::ALL.into_iter().filter(|kind| *kind != RuleKind::Startup || !self.is_started());
        let judges = asked.filter_map(|kind| self.judges[kind].as_ref());
        judges.map(|judge| judge.heard_under).min().unwrap_or(Some(policy.generation))
    }

    /// It is meant to run.
    pub(super) fn is_live(&self) -> bool {
        self.seen.lifecycle == Lifecycle::Live
    }

    /// It is meant to run, and nobody lets it alone: it is asked, expected to beat, compared, and let in or ejected.
    pub(super) fn is_followed(&self) -> bool {
        self.is_live() && self.pause.is_none()
    }

    /// Where it sits.
    pub(super) fn seat(&self) -> Option<SeatKey> {
        match (self.seen.place, self.seen.owner) {
            (Place::Fixed(slot), Some(owner)) => Some(SeatKey { owner, slot }),
            (Place::Any | Place::Fixed(_), _) => {
                self.assigned.filter(|(policy, _)| self.seen.policy == Some(*policy)).map(|(_, seat)| seat)
            }
        }
    }

    /// It sits there from now on, as long as the policy that keeps it does.
    pub(super) fn sit(&mut self, seat: SeatKey) {
        self.assigned = self.seen.policy.map(|policy| (policy, seat));
    }

    /// It sits nowhere any more, unless its owner gives it a seat.
    pub(super) fn stand_up(&mut self) {
        self.assigned = None;
    }

    /// The container that stands for the replica: the one that the first of its rules means.
    pub(super) fn lead(&self) -> Option<&Container> {
        RuleKind::ALL.into_iter().find_map(|kind| self.container(kind)).or_else(|| self.beating())
    }

    /// Whether that container stands for it.
    pub(super) fn is_led_by(&self, container: Incarnation) -> bool {
        self.lead().is_some_and(|lead| lead.incarnation == container)
    }

    /// Whether every container that a rule means runs.
    pub(super) fn is_running(&self) -> bool {
        self.each_container().all(|container| runs(container.state))
    }

    /// Whether the kubelet waits before starting one of those containers again.
    pub(super) fn is_backing_off(&self) -> bool {
        self.each_container().any(|container| container.state == ContainerState::BackingOff)
    }

    /// Why the rule cannot be asked here, if it cannot.
    pub(super) fn problem(&self, kind: RuleKind) -> Option<TargetProblem> {
        match self.seen.targets[kind] {
            Some(Target::Unusable(problem)) => Some(problem),
            Some(Target::Container(_)) | None => None,
        }
    }

    /// The verdict to remember for whoever comes after this engine.
    pub(super) fn verdict(&self, policy: Option<&Policy>) -> Verdict {
        let started = self.lead().filter(|lead| runs(lead.state) && self.is_started());
        Verdict {
            started: started.map(|lead| lead.incarnation),
            generation: policy.map_or(0, |policy| policy.generation),
        }
    }

    /// What it is held for.
    pub(super) fn state(&self, policy: Option<&Policy>) -> ReplicaState {
        let judges = || RuleKind::ALL.into_iter().filter_map(|kind| Some((kind, self.judges[kind].as_deref()?)));
        let failing = |(kind, judge): (RuleKind, &Judge)| {
            policy.and_then(|policy| policy.rule(kind)).is_some_and(|rule| judge.is_failing(rule))
        };
        if self.seen.lifecycle == Lifecycle::Terminating {
            ReplicaState::Terminating
        } else if self.pause.is_some() {
            ReplicaState::Paused
        } else if !self.is_running() {
            ReplicaState::Down
        } else if self.judges.startup.is_some() && !self.is_started() {
            ReplicaState::Starting
        } else if judges().any(failing) || self.is_missing() {
            ReplicaState::Failing
        } else if judges().any(|(_, judge)| judge.is_suspect()) || self.beats() == Some(Evidence::Fail) {
            ReplicaState::Suspect
        } else if (judges().next().is_some() || self.pulse.is_some()) && !self.is_started() {
            ReplicaState::Starting
        } else if judges().any(|(_, judge)| judge.is_judged()) || self.beats().is_some() {
            ReplicaState::Healthy
        } else {
            ReplicaState::Unjudged
        }
    }

    /// When something is to be done for it next.
    pub(super) fn next_look(&self) -> Option<Time> {
        let mut first = NEVER;
        self.wakes(|at, _| first = first.min(at.unwrap_or(NEVER)));
        (first != NEVER).then_some(first)
    }

    /// The same, and what.
    pub(super) fn next_wake(&self) -> Option<(Time, &'static str)> {
        let mut first = Wake::default();
        self.wakes(|at, why| first.or(at, why));
        first.get()
    }

    #[inline]
    fn wakes(&self, mut wake: impl FnMut(Option<Time>, &'static str)) {
        if !self.is_live() {
            return;
        }
        for judge in self.judges.all() {
            let Some(judge) = judge else { continue };
            wake(judge.due, "attempt due");
            wake(judge.recheck, "re-check due");
            wake(judge.overdue(), "attempt overdue");
        }
        wake(self.pause.and_then(Pause::until), "pause ends");
        if let Some(pulse) = &self.pulse {
            wake(pulse.turns(), "beat overdue");
        }
        if self.seen.gate != GateSeen::Ungated {
            wake(self.gate.release(self.release, self.seen.gate), "gate without a policy");
        }
        wake(self.gate.next_write(), "gate to be written");
        wake(self.decided().stays_until(), "gate may be turned");
    }

    /// A startup rule that cannot be asked counts as absent.
    pub(super) fn startup_rule_is_absent(&self) -> bool {
        self.container(RuleKind::Startup).is_none()
    }

    /// Some rule passes.
    pub(super) fn passes_any(&self) -> bool {
        let is_passed = self.judges.all().into_iter().flatten().any(|judge| judge.passes > 0);
        is_passed || self.pulse.as_ref().is_some_and(|pulse| pulse.has_beaten())
    }

    /// It has started and was silent for a whole time to live.
    fn is_missing(&self) -> bool {
        self.is_started() && self.pulse.as_ref().is_some_and(|pulse| pulse.presence() == Presence::Missing)
    }

    /// The container that its beats speak for.
    pub(super) fn beating(&self) -> Option<&Container> {
        container(self.seen.heartbeat.as_ref())
    }

    fn each_container(&self) -> impl Iterator<Item = &Container> {
        RuleKind::ALL.into_iter().filter_map(|kind| self.container(kind)).chain(self.beating())
    }

    fn containers(&self) -> PerRule<Option<Incarnation>> {
        PerRule::from_fn(|kind| self.container(kind).map(|container| container.incarnation))
    }

    pub(super) fn container(&self, kind: RuleKind) -> Option<&Container> {
        container(self.seen.targets[kind].as_ref())
    }

    fn note_state(&mut self, now: Time) {
        if let Some(lead) = self.lead().filter(|lead| runs(lead.state)) {
            self.ran = Some(lead.incarnation);
        }
        for kind in RuleKind::ALL {
            if self.container(kind).is_some_and(|container| !runs(container.state)) {
                self.last_down[kind] = Some(now);
            }
        }
    }
}

fn container(target: Option<&Target>) -> Option<&Container> {
    match target {
        Some(Target::Container(container)) => Some(container),
        Some(Target::Unusable(_)) | None => None,
    }
}

pub(super) fn runs(state: ContainerState) -> bool {
    match state {
        ContainerState::Running { .. } => true,
        ContainerState::Down | ContainerState::BackingOff => false,
    }
}

/// The node's clock gives whole seconds and may be off: a container did not start in the future, nor before we saw it
/// down.
pub(super) fn started_at(state: ContainerState, last_down: Option<Time>, now: Time) -> Time {
    match state {
        ContainerState::Running { since } => since.min(now).max(last_down.unwrap_or_default()),
        ContainerState::Down | ContainerState::BackingOff => now,
    }
}
