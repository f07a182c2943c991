//! What the engine's tests share: small policies, and a world of one call each.

use std::num::NonZeroU32;

use super::*;

pub(super) const POLICY: PolicyKey = PolicyKey(0);
pub(super) const OWNER: OwnerKey = OwnerKey(0);

/// A rule with that period in seconds and failure threshold; everything else as small as it may be.
pub(super) fn rule(period: u64, threshold: u32) -> Rule {
    Rule {
        question: Question(1),
        period: Span::from_secs(period),
        timeout: Span::from_secs(1),
        startup_period: None,
        fast_period: None,
        initial_delay: Span::ZERO,
        failure_threshold: NonZeroU32::new(threshold).unwrap(),
        success_threshold: NonZeroU32::MIN,
        failure_window: None,
    }
}

/// Enforces a startup rule (1 s, 6), a liveness rule (1 s, 3) and a readiness rule (1 s, 1), with the defaults of the
/// CRD and attempts on whole seconds.
pub(super) fn policy() -> Policy {
    Policy {
        generation: 1,
        mode: Mode::Enforce,
        paused_until: None,
        rules: PerRule { startup: Some(rule(1, 6)), liveness: Some(rule(1, 3)), readiness: Some(rule(1, 1)) },
        heartbeat: None,
        restart: RestartSettings {
            method: RestartMethod::Evict,
            max_concurrent: Amount::Count(1),
            budget: None,
            backoff: Backoff {
                initial: Span::from_secs(10),
                max: Span::from_secs(300),
                reset_after: Span::from_secs(600),
            },
            grace_period: Span::from_secs(10),
            deadline: Span::from_secs(600),
            loop_after: NonZeroU32::new(3).unwrap(),
            give_up_after: NonZeroU32::new(5),
            other_owners: OtherOwners::Refuse,
        },
        pool: Pool::ReadinessGate,
        floor: None,
        on_policy_change: OnPolicyChange::Keep,
        dwell: None,
        fleet: FleetSettings { breaker: None, shared_failure: SharedFailure::Ignore },
        dependencies: Vec::new(),
        phase: Phase::Aligned { origin: Time::ZERO },
    }
}

/// A world in which every write succeeds at once and each replica answers as it was told to.
pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) now: Time,
    pub(super) answers: BTreeMap<(u32, RuleKind), OutcomeClass>,
    /// What every dependency is answered; `None`: nothing, for ever.
    pub(super) dependency: Option<OutcomeClass>,
    pub(super) dependency_attempts: u32,
    pub(super) seen: BTreeMap<u32, Observation>,
    /// Effects other than attempts, in their order.
    pub(super) done: Vec<(Time, Effect)>,
    /// How the world answers restarts and gate writes.
    pub(super) restart_result: EffectResult,
    pub(super) gate_result: EffectResult,
    pub(super) intent_result: EffectResult,
    pub(super) attempts: u32,
}

impl Bench {
    pub(super) fn new() -> Self {
        let mut bench = Self {
            engine: Engine::new(),
            now: Time::ZERO,
            answers: BTreeMap::new(),
            dependency: Some(OutcomeClass::Passed),
            dependency_attempts: 0,
            seen: BTreeMap::new(),
            done: Vec::new(),
            restart_result: EffectResult::Applied,
            gate_result: EffectResult::Applied,
            intent_result: EffectResult::Applied,
            attempts: 0,
        };
        bench.tell(Input::OwnerSeen { owner: OWNER, seen: Owner { kind: OwnerKind::Recreates, desired: 8, first: 0 } });
        bench
    }

    /// A synced world with this policy, whose rules others have passed before.
    pub(super) fn with(policy: Policy) -> Self {
        let mut bench = Self::new();
        bench.set(policy);
        let rules = PerRule { startup: true, liveness: true, readiness: true };
        bench.tell(Input::PassedBefore { policy: POLICY, rules });
        bench.tell(Input::Synced);
        bench
    }

    /// Sets the policy, and shows every replica again, as the edge does.
    pub(super) fn set(&mut self, policy: Policy) {
        self.tell(Input::PolicySet { policy: POLICY, spec: Box::new(policy) });
        for index in self.seen.keys().copied().collect::<Vec<_>>() {
            self.show(index, |_| {});
        }
    }

    pub(super) fn tell(&mut self, input: Input) {
        self.engine.handle(self.now, input);
    }

    /// Shows a new replica with a running container, at an ordinal of its own.
    pub(super) fn add(&mut self, index: u32) {
        self.add_as(index, |_| {});
    }

    /// The same, but for what `change` says.
    pub(super) fn add_as(&mut self, index: u32, change: impl FnOnce(&mut Observation)) {
        let container = Target::Container(Container {
            incarnation: Incarnation(1),
            state: ContainerState::Running { since: self.now },
            remembered: None,
        });
        let targets = PerRule { startup: Some(container), liveness: Some(container), readiness: Some(container) };
        let seen = Observation {
            policy: Some(POLICY),
            owner: Some(OWNER),
            place: Place::Fixed(Slot::Ordinal(index)),
            node: None,
            revision: None,
            lifecycle: Lifecycle::Live,
            paused_until: None,
            ready: Readiness::NotReady,
            gate: GateSeen::Unset,
            targets,
            heartbeat: Some(container),
            spread: u64::from(index),
            created: self.now,
        };
        self.seen.insert(index, seen);
        self.show(index, change);
    }

    /// Changes what is seen of a replica.
    pub(super) fn show(&mut self, index: u32, change: impl FnOnce(&mut Observation)) {
        let seen = self.seen.get_mut(&index).unwrap();
        change(seen);
        let seen = Box::new(seen.clone());
        self.tell(Input::ReplicaSeen { replica: key(index), seen });
    }

    /// Replaces the container of a replica in place.
    pub(super) fn replace_container(&mut self, index: u32) {
        let now = self.now;
        self.each_container(index, |container| {
            container.incarnation.0 += 1;
            container.state = ContainerState::Running { since: now };
            container.remembered = None;
        });
    }

    /// Changes all containers of a replica.
    pub(super) fn each_container(&mut self, index: u32, change: impl Fn(&mut Container)) {
        self.show(index, |seen| {
            for kind in RuleKind::ALL {
                if let Some(Target::Container(container)) = &mut seen.targets[kind] {
                    change(container);
                }
            }
            if let Some(Target::Container(container)) = &mut seen.heartbeat {
                change(container);
            }
        });
    }

    /// What all rules of a replica are answered from now on.
    pub(super) fn answer(&mut self, index: u32, class: OutcomeClass) {
        for kind in RuleKind::ALL {
            self.answers.insert((index, kind), class);
        }
    }

    /// Lets whole seconds pass, polling at each.
    pub(super) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.settle();
            self.now = self.now + Span::from_secs(1);
        }
        self.settle();
    }

    /// Lets time pass, polling whenever the engine has asked for it.
    pub(super) fn advance(&mut self, by: Span) {
        let end = self.now + by;
        while self.now < end {
            self.settle();
            self.now = self.engine.next_deadline().map_or(end, |(at, _)| at.min(end));
        }
    }

    /// Polls until the engine has nothing more to do now.
    pub(super) fn settle(&mut self) {
        loop {
            let effects = self.poll();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out(effect);
            }
        }
    }

    /// Polls once, and carries nothing out.
    pub(super) fn poll(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.engine.poll(self.now, &mut effects);
        effects
    }

    fn carry_out(&mut self, effect: Effect) {
        match &effect {
            Effect::StartAttempt { attempt, .. } => {
                self.attempts += 1;
                let asked = (attempt.replica.index, attempt.rule);
                let class = self.answers.get(&asked).copied().unwrap_or(OutcomeClass::Passed);
                let outcome = Outcome { class, took: Span::ZERO };
                self.tell(Input::AttemptFinished { attempt: *attempt, outcome });
                return;
            }
            Effect::AskDependency { attempt, .. } => {
                self.dependency_attempts += 1;
                if let Some(class) = self.dependency {
                    let outcome = Outcome { class, took: Span::ZERO };
                    self.tell(Input::DependencyAnswered { attempt: *attempt, outcome });
                }
                return;
            }
            Effect::SetGate { replica, gate, .. } => {
                let (replica, gate) = (*replica, *gate);
                self.tell(Input::GateResult { replica, result: self.gate_result });
                if let Some(gate) = gate.filter(|_| self.gate_result == EffectResult::Applied) {
                    self.show(replica.index, |seen| {
                        seen.gate = GateSeen::Set(gate);
                        seen.ready = if gate == Gate::Open { Readiness::Ready } else { Readiness::NotReady };
                    });
                }
            }
            Effect::RecordIntent { intent, .. } => {
                self.tell(Input::IntentResult { intent: *intent, result: self.intent_result });
            }
            Effect::Restart { policy, replica, .. } => {
                let (policy, replica) = (*policy, *replica);
                self.tell(Input::RestartResult { policy, replica, result: self.restart_result });
            }
            Effect::Record(_) | Effect::RecordFleet(_) | Effect::Published { .. } | Effect::Took { .. } => {}
        }
        self.done.push((self.now, effect));
    }

    /// The restarts that were ordered: when, and of whom.
    pub(super) fn restarts(&self) -> Vec<(u64, u32)> {
        let mut restarts = Vec::new();
        for (at, effect) in &self.done {
            if let Effect::Restart { replica, .. } = effect {
                restarts.push((seconds(*at), replica.index));
            }
        }
        restarts
    }

    /// The transitions of a replica: when, and what.
    pub(super) fn told(&self, index: u32) -> Vec<(u64, TransitionKind)> {
        let mut told = Vec::new();
        for (at, effect) in &self.done {
            if let Effect::Record(transition) = effect
                && transition.replica.index == index
            {
                told.push((seconds(*at), transition.kind));
            }
        }
        told
    }

    /// The transitions of the fleet as a whole: when, and what.
    pub(super) fn fleet_told(&self) -> Vec<(u64, FleetTransitionKind)> {
        let mut told = Vec::new();
        for (at, effect) in &self.done {
            if let Effect::RecordFleet(transition) = effect {
                told.push((seconds(*at), transition.kind));
            }
        }
        told
    }

    /// Where a replica's gate stands.
    pub(super) fn gate(&self, index: u32) -> GateSeen {
        self.seen[&index].gate
    }

    /// What the engine holds.
    pub(super) fn report(&self) -> PolicyReport {
        self.engine.report(POLICY, self.now).unwrap()
    }
}

pub(super) fn key(index: u32) -> ReplicaKey {
    ReplicaKey { index, generation: 0 }
}

fn seconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000_000
}
