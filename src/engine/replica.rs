//! One replica: what was seen of it, what its rules hold of it, and when they ask next.

use super::gate::GateKeeper;
use super::judge::{Judge, Timing};
use super::schedule::Grid;
use super::{
    AttemptId, Container, ContainerState, Effect, Evidence, GateSeen, Incarnation, Lifecycle, Mode, Observation,
    Obstacle, Outcome, PerRule, Place, Policy, PolicyKey, ReplicaKey, ReplicaState, Rule, RuleKind, SeatKey, Target,
    TargetProblem, Time, Verdict,
};

/// One replica.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    pub(super) key: ReplicaKey,
    pub(super) seen: Observation,
    pub(super) judges: PerRule<Option<Judge>>,
    pub(super) gate: GateKeeper,
    /// The seat, where the owner gives none but the engine did.
    pub(super) assigned: Option<SeatKey>,
    /// What last stood in the way of a restart, so that it is told once.
    pub(super) obstacle: Option<Obstacle>,
    /// Since when no policy has selected it.
    pub(super) unselected: Option<Time>,
    /// The lead container that has finished starting.
    started: Option<Incarnation>,
    /// When its startup rule passed, if we saw that.
    started_at: Option<Time>,
    /// The lead container that was last seen running.
    ran: Option<Incarnation>,
    last_down: PerRule<Option<Time>>,
    serials: PerRule<u32>,
}

/// Why a container is another than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not.
    Same,
    /// The replica's container was replaced in place.
    Replaced,
}

impl Replica {
    /// A replica seen for the first time; a remembered verdict on its present container is taken over.
    pub(super) fn new(key: ReplicaKey, seen: Observation, now: Time) -> Self {
        let mut replica = Self {
            key,
            gate: GateKeeper::found(seen.gate, None),
            judges: PerRule::default(),
            assigned: None,
            obstacle: None,
            unselected: seen.policy.is_none().then_some(now),
            started: None,
            started_at: None,
            ran: None,
            last_down: PerRule::default(),
            serials: PerRule::default(),
            seen,
        };
        if let Some(lead) = replica.lead()
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
        self.unselected = match seen.policy {
            Some(_) => None,
            None => self.unselected.or(Some(now)),
        };
        self.seen = seen;
        self.note_state(now);
        self.gate.observe(self.seen.gate);
        let replaced = |kind| containers[kind].zip(self.containers()[kind]).is_some_and(|(was, is)| was != is);
        if RuleKind::ALL.into_iter().any(replaced) {
            self.gate.forget();
            self.obstacle = None;
        }
        if ran.is_some() && ran != self.ran { Change::Replaced } else { Change::Same }
    }

    /// Brings the judges in line with the policy's rules and the replica's containers.
    pub(super) fn reconcile(&mut self, policy: Option<&Policy>, now: Time) {
        for kind in RuleKind::ALL {
            let rule = policy.and_then(|policy| policy.rule(kind));
            let (Some(spec), Some(rule), Some(container)) = (policy, rule, self.container(kind)) else {
                self.judges[kind] = None;
                if policy.is_some() && rule.is_none() {
                    // What was seen may be older than the policy.
                    self.seen.targets[kind] = None;
                }
                continue;
            };
            self.reconcile_judge(kind, spec, rule, container, now);
        }
        if self.startup_rule_is_absent() && self.judges_passed() {
            self.started = self.lead().map(|lead| lead.incarnation);
        }
    }

    /// Starts every attempt that is due.
    pub(super) fn ask(&mut self, policy_key: PolicyKey, policy: &Policy, now: Time, effects: &mut Vec<Effect>) {
        for kind in RuleKind::ALL {
            let may_ask = self.may_ask(kind, policy);
            let after_startup = kind != RuleKind::Startup && self.started_at == Some(now);
            let (Some(rule), Some(judge)) = (policy.rule(kind), &mut self.judges[kind]) else { continue };
            judge.give_up(now);
            let Some(timing) = judge.timing else { continue };
            if !may_ask {
                judge.rest();
                continue;
            }
            let since = judge.start + timing.initial_delay;
            let due = *judge.due.get_or_insert_with(|| match after_startup {
                true => timing.grid.after_startup(since, now),
                false => timing.grid.first(since, now),
            });
            if due > now {
                continue;
            }
            if judge.is_asking() {
                judge.due = Some(timing.grid.after(now));
                continue;
            }
            let serial = self.serials[kind];
            self.serials[kind] = serial.wrapping_add(1);
            let deadline = judge.begin(serial, now, rule.timeout);
            judge.due = Some(if judge.begun == 1 { timing.grid.second(kind, now) } else { timing.grid.after(now) });
            let incarnation = judge.container;
            let attempt = AttemptId { replica: self.key, rule: kind, serial };
            effects.push(Effect::StartAttempt { attempt, policy: policy_key, incarnation, deadline });
        }
    }

    /// Takes the outcome of an attempt; `None` if it is void.
    pub(super) fn finish(
        &mut self,
        attempt: AttemptId,
        outcome: Outcome,
        policy: &Policy,
        now: Time,
    ) -> Option<Evidence> {
        let kind = attempt.rule;
        let rule = policy.rule(kind)?;
        let evidence = self.judges[kind].as_mut()?.finish(attempt.serial, outcome, rule)?;
        let tells_startup = kind == RuleKind::Startup || self.startup_rule_is_absent();
        if evidence == Evidence::Pass && tells_startup && !self.is_started() {
            self.started = self.lead().map(|lead| lead.incarnation);
            self.started_at = (kind == RuleKind::Startup).then_some(now);
        }
        Some(evidence)
    }

    /// The rule whose streak asks for a restart, with its failures in a row.
    pub(super) fn wants_restart(&self, policy: &Policy) -> Option<RuleKind> {
        let live = policy.mode == Mode::Enforce && self.seen.lifecycle == Lifecycle::Live;
        let failing = |kind| {
            let judge = self.judges[kind].as_ref()?;
            (judge.is_failing(policy.rule(kind)?) && self.may_ask(kind, policy)).then_some(kind)
        };
        live.then(|| failing(RuleKind::Startup).or_else(|| failing(RuleKind::Liveness))).flatten()
    }

    /// Its startup rule has passed, or, without one, any rule has.
    pub(super) fn is_started(&self) -> bool {
        self.started.is_some() && self.started == self.lead().map(|lead| lead.incarnation)
    }

    /// It is started, and the latest attempt of each rule that judges it now passed.
    pub(super) fn is_judged_well(&self) -> bool {
        self.seen.lifecycle == Lifecycle::Live
            && (self.is_started() || self.lead().is_none())
            && [RuleKind::Liveness, RuleKind::Readiness]
                .iter()
                .all(|kind| self.judges[*kind].as_ref().is_none_or(|judge| judge.passes > 0))
    }

    /// Where it sits.
    pub(super) fn seat(&self) -> Option<SeatKey> {
        match (self.seen.place, self.seen.owner) {
            (Place::Fixed(slot), Some(owner)) => Some(SeatKey { owner, slot }),
            (Place::Any | Place::Fixed(_), _) => self.assigned,
        }
    }

    /// The container that stands for the replica: the one that the first of its rules means.
    pub(super) fn lead(&self) -> Option<Container> {
        RuleKind::ALL.into_iter().find_map(|kind| self.container(kind))
    }

    /// Whether every container that a rule means runs.
    pub(super) fn is_running(&self) -> bool {
        RuleKind::ALL.into_iter().filter_map(|kind| self.container(kind)).all(|container| runs(container.state))
    }

    /// Whether the kubelet waits before starting one of those containers again.
    pub(super) fn is_backing_off(&self) -> bool {
        RuleKind::ALL
            .into_iter()
            .filter_map(|kind| self.container(kind))
            .any(|container| container.state == ContainerState::BackingOff)
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
        let judges = || RuleKind::ALL.into_iter().filter_map(|kind| Some((kind, self.judges[kind].as_ref()?)));
        let failing = |(kind, judge): (RuleKind, &Judge)| {
            policy.and_then(|policy| policy.rule(kind)).is_some_and(|rule| judge.is_failing(rule))
        };
        if self.seen.lifecycle == Lifecycle::Terminating {
            ReplicaState::Terminating
        } else if !self.is_running() {
            ReplicaState::Down
        } else if self.judges.startup.is_some() && !self.is_started() {
            ReplicaState::Starting
        } else if judges().any(failing) {
            ReplicaState::Failing
        } else if judges().any(|(_, judge)| judge.is_suspect()) {
            ReplicaState::Suspect
        } else if judges().next().is_some() && !self.is_started() {
            ReplicaState::Starting
        } else if judges().any(|(_, judge)| judge.is_judged()) {
            ReplicaState::Healthy
        } else {
            ReplicaState::Unjudged
        }
    }

    /// When something is to be done for it next, and what.
    pub(super) fn next_wake(&self) -> Option<(Time, &'static str)> {
        if self.seen.lifecycle == Lifecycle::Terminating {
            return None;
        }
        let judges = RuleKind::ALL.into_iter().filter_map(|kind| self.judges[kind].as_ref());
        let attempts = judges.clone().filter_map(|judge| Some((judge.due?, "attempt due")));
        let overdue = judges.filter_map(|judge| Some((judge.overdue()?, "attempt overdue")));
        let gate = self.gate.next_wake(self.unselected.filter(|_| self.seen.gate != GateSeen::Ungated));
        attempts.chain(overdue).chain(gate).min()
    }

    fn reconcile_judge(&mut self, kind: RuleKind, policy: &Policy, rule: &Rule, container: Container, now: Time) {
        let timing =
            Timing { grid: Grid::new(policy.phase, rule, kind, self.seen.spread), initial_delay: rule.initial_delay };
        let start = started_at(container.state, self.last_down[kind], now);
        let same = self.judges[kind].take_if(|judge| judge.container == container.incarnation);
        let mut judge = same.unwrap_or_else(|| Judge::new(container.incarnation, rule.question, start));
        if judge.question != rule.question {
            judge.ask_anew(rule.question);
        }
        if judge.timing != Some(timing) {
            judge.due = (judge.begun > 0).then(|| timing.grid.after(now));
            judge.timing = Some(timing);
        }
        judge.conclude(rule);
        self.judges[kind] = Some(judge);
    }

    /// Whether the rule may ask at all now.
    fn may_ask(&self, kind: RuleKind, policy: &Policy) -> bool {
        let turn = match kind {
            RuleKind::Startup => !self.is_started(),
            RuleKind::Liveness | RuleKind::Readiness => self.is_started() || self.startup_rule_is_absent(),
        };
        turn && policy.mode != Mode::Paused
            && self.seen.lifecycle == Lifecycle::Live
            && self.container(kind).is_some_and(|container| runs(container.state))
    }

    /// A startup rule that cannot be asked counts as absent.
    fn startup_rule_is_absent(&self) -> bool {
        self.container(RuleKind::Startup).is_none()
    }

    fn judges_passed(&self) -> bool {
        RuleKind::ALL.into_iter().filter_map(|kind| self.judges[kind].as_ref()).any(|judge| judge.passes > 0)
    }

    fn containers(&self) -> PerRule<Option<Incarnation>> {
        let id = |kind| self.container(kind).map(|container| container.incarnation);
        PerRule { startup: id(RuleKind::Startup), liveness: id(RuleKind::Liveness), readiness: id(RuleKind::Readiness) }
    }

    fn container(&self, kind: RuleKind) -> Option<Container> {
        match self.seen.targets[kind] {
            Some(Target::Container(container)) => Some(container),
            Some(Target::Unusable(_)) | None => None,
        }
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

fn runs(state: ContainerState) -> bool {
    match state {
        ContainerState::Running { .. } => true,
        ContainerState::Down | ContainerState::BackingOff => false,
    }
}

/// The node's clock gives whole seconds and may be off: a container did not start in the future, nor before we saw it
/// down.
fn started_at(state: ContainerState, last_down: Option<Time>, now: Time) -> Time {
    match state {
        ContainerState::Running { since } => since.min(now).max(last_down.unwrap_or_default()),
        ContainerState::Down | ContainerState::BackingOff => now,
    }
}
