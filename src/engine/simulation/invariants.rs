//! What holds after every step, whatever has happened.

use super::*;

impl World {
    pub(super) fn check(&mut self) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let seed = self.seed;
        let restarting = report.seats.iter().filter(|seat| seat.memory.intent.is_some()).count();
        assert!(restarting <= 2, "seed {seed}: {restarting} seats in a restart");
        assert!(
            report.failing <= report.suspect && report.suspect + report.starting + report.paused <= report.replicas
        );
        self.has_rolled |= report.awaiting > 0;
        self.has_given_up |= report.gave_up > 0;
        let shared = |report: &&ReplicaReport| match report.wants_restart {
            Some((_, Some(Obstacle::Breaker { among, .. }))) => among != Among::Fleet,
            Some(_) | None => false,
        };
        self.shared += report.replica_reports.iter().filter(shared).count() as u64;
        let suspects = report.replica_reports.iter().filter(|replica| {
            let judged = matches!(replica.state, ReplicaState::Suspect | ReplicaState::Failing);
            judged && replica.streaks.liveness.is_some_and(|fails| fails > 0)
        });
        let suspects = suspects.count() as u32;
        if self.spec.fleet.breaker.is_some_and(|breaker| breaker.opens(suspects, report.replicas)) {
            let is_open = matches!(report.breaker, BreakerReport::Open { .. });
            assert!(is_open, "seed {seed}: the breaker is closed with {suspects} of {} suspect", report.replicas);
        }
        for pod in self.pods.values().filter(|pod| pod.lifecycle == Lifecycle::Live) {
            let running = matches!(pod.state, ContainerState::Running { .. });
            let held = report.replica_reports.iter().find(|replica| replica.replica == pod.key).and_then(|r| r.gate);
            if running && pod.admitted && !self.is_paused(pod) {
                let evident = match held {
                    None | Some((Gate::Open, _)) => true,
                    Some((Gate::Closed, Reason::Held { rule, by: Obstacle::GaveUp { .. } })) => pod.failed[rule],
                    Some((Gate::Closed, Reason::BelowFloor { .. })) => {
                        self.spec.floor.is_some_and(|floor| floor.when_below == WhenBelow::Close)
                    }
                    Some((Gate::Closed, Reason::Preparing { .. })) => {
                        self.spec.on_policy_change != OnPolicyChange::Keep
                    }
                    Some((Gate::Closed, _)) => pod.failed.readiness || pod.was_silent,
                };
                assert!(evident, "seed {seed}: {pod:?} ejected without evidence: {held:?}");
            }
        }
        if let Some(ceiling) = &self.engine.ceiling {
            let replicas = self.engine.replicas.iter().flatten();
            let asked: u64 = replicas.map(|replica| replica.asks_at(Some(&self.spec)).millionths()).sum();
            assert_eq!(ceiling.wanted(), u128::from(asked), "seed {seed}: the ceiling is held against something else");
            self.has_stretched |= ceiling.stretched().is_some();
        }
        // A deadline in the past would make the world spin.
        if let Some((at, why)) = self.engine.next_deadline() {
            assert!(at > self.now, "seed {seed}: still due after a poll: {why}");
        }
    }

    /// While a breaker is open, be it that of the fleet, of its node or of its revision, nobody is restarted but for a
    /// trial, or after one that helped.
    pub(super) fn check_breaker(&mut self, replica: ReplicaKey, rule: RuleKind) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let restarting = report.replica_reports.iter().find(|report| report.replica == replica).unwrap();
        let pod = self.pod(replica).unwrap();
        let (node, revision) = (pod.node(), Some(RevisionKey(pod.key.generation % 2)));
        let is_of = |part: &Part| match *part {
            Part::Node(other) => other == node,
            Part::Revision(other) => other == revision && rule == RuleKind::Liveness,
            Part::Starting(other) => other == revision && rule == RuleKind::Startup,
        };
        let of_fleet = match report.breaker {
            BreakerReport::Closed => None,
            BreakerReport::Open { trial, .. } => Some(trial),
        };
        let of_parts = report.parts.iter().filter(|part| is_of(&part.part)).map(|part| part.trial);
        let seed = self.seed;
        let mut is_trial = false;
        for trial in of_fleet.into_iter().chain(of_parts) {
            match trial {
                Trial::Helped => {}
                Trial::Runs { seat, .. } => {
                    assert_eq!(restarting.seat, Some(seat), "seed {seed}: a restart beside the trial");
                    is_trial = true;
                }
                Trial::Waits { .. } => panic!("seed {seed}: a restart during an open breaker"),
            }
        }
        self.trials += u64::from(is_trial);
    }

    /// Nobody is ejected for its failures, or in its turn, if that leaves fewer in the pool than the floor says; and nobody is in that is
    /// starting, whatever the floor says.
    pub(super) fn check_floor(&mut self, effects: &[Effect]) {
        let ejects = |effect: &Effect| match effect {
            Effect::Record(transition) => {
                let failed = matches!(
                    transition.reason,
                    Reason::Failed { .. } | Reason::FailedOften { .. } | Reason::NoBeat { .. } | Reason::Held { .. }
                );
                let in_turn = matches!(transition.reason, Reason::Preparing { .. })
                    && self.spec.on_policy_change == OnPolicyChange::Rolling;
                transition.kind == TransitionKind::Ejected && (failed || in_turn)
            }
            Effect::StartAttempt { .. }
            | Effect::AskDependency { .. }
            | Effect::SetGate { .. }
            | Effect::RecordIntent { .. }
            | Effect::Restart { .. }
            | Effect::RecordFleet(_)
            | Effect::Published { .. }
            | Effect::Took { .. } => false,
        };
        let Some(report) = self.engine.report(POLICY, self.now) else { return };
        let is_in = |report: &&ReplicaReport| matches!(report.gate, Some((Gate::Open, _)));
        let held = |report: &&ReplicaReport| {
            matches!(
                report.gate,
                Some((
                    Gate::Open,
                    Reason::Held { by: Obstacle::Floor { .. }, .. }
                        | Reason::HeldWithoutBeat { by: Obstacle::Floor { .. } }
                ))
            )
        };
        let live = || report.replica_reports.iter().filter(|replica| replica.lifecycle == Lifecycle::Live);
        let (pool, seed) = (live().filter(is_in).count(), self.seed);
        self.has_held |= live().any(|report| held(&report));
        if self.spec.mode == Mode::Enforce && self.spec.floor == Some(FLOOR) && effects.iter().any(ejects) {
            assert!(pool >= 3, "seed {seed}: an ejection left {pool} in the pool");
        }
        for replica in live().filter(held) {
            assert_ne!(replica.state, ReplicaState::Starting, "seed {seed}: let in while it is starting");
        }
    }

    /// In no stretch of time are there more restarts than the budget holds and earns in it, and one that was under way
    /// when its engine was killed.
    pub(super) fn check_budget(&mut self) {
        let Some(budget) = self.spec.restart.budget else { return };
        self.spent.push(self.now);
        for (count, since) in (1..).zip(self.spent.iter().rev()) {
            let earned = self.now.since(*since).as_nanos() / budget.interval().as_nanos();
            let most = u64::from(budget.restarts.get()) + earned + 1;
            assert!(count <= most, "seed {}: {count} restarts where {most} may be", self.seed);
        }
    }

    /// Nobody is ejected for a silence that was shorter than the time to live, or that we may only not have heard the
    /// end of, or where nobody has ever beaten.
    pub(super) fn check_beats(&mut self, effects: &[Effect]) {
        let ejected = effects.iter().filter_map(|effect| match effect {
            Effect::Record(Transition { kind: TransitionKind::Ejected, replica, reason, .. }) => {
                matches!(reason, Reason::NoBeat { .. }).then_some(*replica)
            }
            Effect::Record(_)
            | Effect::StartAttempt { .. }
            | Effect::AskDependency { .. }
            | Effect::SetGate { .. }
            | Effect::RecordIntent { .. }
            | Effect::Restart { .. }
            | Effect::RecordFleet(_)
            | Effect::Published { .. }
            | Effect::Took { .. } => None,
        });
        for replica in ejected {
            let (pod, seed) = (self.pod(replica).unwrap(), self.seed);
            // One that was missing before is ejected when nothing holds it any more, whatever was not heard since.
            let before = self.deaf.start.since(pod.silent_since);
            let silence = before.max(self.now.since(pod.silent_since.max(self.deaf.end)));
            assert!(self.beaten, "seed {seed}: {pod:?} ejected for its silence where nobody beats");
            assert!(silence >= HEARTBEAT.time_to_live, "seed {seed}: {pod:?} ejected after {silence} of silence");
            self.has_missed = true;
        }
    }

    /// Nobody is restarted whose seat no restart has helped so often.
    pub(super) fn check_efficacy(&mut self, replica: ReplicaKey) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let seat = report.replica_reports.iter().find(|report| report.replica == replica).unwrap().seat;
        let memory = report.seats.iter().find(|report| Some(report.seat) == seat).unwrap().memory;
        assert!(memory.futile < GIVE_UP_AFTER, "seed {}: a restart after {} futile ones", self.seed, memory.futile);
    }
}
