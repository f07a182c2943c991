//! What holds after every step, whatever has happened.

use super::*;

impl World {
    pub(super) fn check(&mut self) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let seed = self.seed;
        let restarting = report.seats.iter().filter(|seat| seat.memory.intent.is_some()).count();
        assert!(restarting <= 2, "seed {seed}: {restarting} seats in a restart");
        assert!(report.failing <= report.suspect && report.suspect + report.starting <= report.replicas);
        self.has_rolled |= report.awaiting > 0;
        self.has_given_up |= report.gave_up > 0;
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
            if running && pod.admitted {
                let evident = match held {
                    None | Some((Gate::Open, _)) => true,
                    Some((Gate::Closed, Reason::Held { rule, by: Obstacle::GaveUp { .. } })) => pod.failed[rule],
                    Some((Gate::Closed, Reason::BelowFloor { .. })) => {
                        self.spec.floor.is_some_and(|floor| floor.when_below == WhenBelow::Close)
                    }
                    Some((Gate::Closed, Reason::Preparing { .. })) => {
                        self.spec.on_policy_change != OnPolicyChange::Keep
                    }
                    Some((Gate::Closed, _)) => pod.failed.readiness,
                };
                assert!(evident, "seed {seed}: {pod:?} ejected without evidence");
            }
        }
        // A deadline in the past would make the world spin.
        if let Some((at, why)) = self.engine.next_deadline() {
            assert!(at > self.now, "seed {seed}: still due after a poll: {why}");
        }
    }

    /// While the breaker is open, nobody is restarted but for a trial, or after one that helped.
    pub(super) fn check_breaker(&mut self, replica: ReplicaKey) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let restarting = report.replica_reports.iter().find(|report| report.replica == replica).unwrap();
        let seed = self.seed;
        match report.breaker {
            BreakerReport::Closed | BreakerReport::Open { trial: Trial::Helped, .. } => {}
            BreakerReport::Open { trial: Trial::Runs { seat, .. }, .. } => {
                assert_eq!(restarting.seat, Some(seat), "seed {seed}: a restart beside the trial");
                self.trials += 1;
            }
            BreakerReport::Open { trial: Trial::Waits { .. }, .. } => {
                panic!("seed {seed}: a restart during an open breaker")
            }
        }
    }

    /// Nobody is ejected for its failures, or in its turn, if that leaves fewer in the pool than the floor says; and nobody is in that is
    /// starting, whatever the floor says.
    pub(super) fn check_floor(&mut self, effects: &[Effect]) {
        let ejects = |effect: &Effect| match effect {
            Effect::Record(transition) => {
                let failed = matches!(
                    transition.reason,
                    Reason::Failed { .. } | Reason::FailedOften { .. } | Reason::Held { .. }
                );
                let in_turn = matches!(transition.reason, Reason::Preparing { .. })
                    && self.spec.on_policy_change == OnPolicyChange::Rolling;
                transition.kind == TransitionKind::Ejected && (failed || in_turn)
            }
            Effect::StartAttempt { .. }
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
            matches!(report.gate, Some((Gate::Open, Reason::Held { by: Obstacle::Floor { .. }, .. })))
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

    /// Nobody is restarted whose seat no restart has helped so often.
    pub(super) fn check_efficacy(&mut self, replica: ReplicaKey) {
        let report = self.engine.report(POLICY, self.now).unwrap();
        let seat = report.replica_reports.iter().find(|report| report.replica == replica).unwrap().seat;
        let memory = report.seats.iter().find(|report| Some(report.seat) == seat).unwrap().memory;
        assert!(memory.futile < GIVE_UP_AFTER, "seed {}: a restart after {} futile ones", self.seed, memory.futile);
    }
}
