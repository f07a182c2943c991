//! What happens in a world that can be watched, recorded.

use super::{Decision, Losses, Membership, Recording};
use crate::engine::{Time, Transition};
use crate::local;
use crate::model::{Attempt, Member, Moment, Observer, Standing, Traffic, Turn};
use crate::scenario::{Condition, RequestKind, Scenario};

impl Recording {
    /// Nothing of this scenario has happened yet; those who join are not there.
    pub fn of(scenario: &Scenario) -> Self {
        let mut recording = Self::new(scenario.replicas(), scenario.turn(), scenario.first_turn());
        for replica in (0..scenario.replicas()).filter(|replica| scenario.joins(*replica).is_some()) {
            recording.state(Time::ZERO, replica, None);
            recording.membership(Time::ZERO, replica, Membership::Out);
        }
        recording
    }

    /// The same of a run on processes that is over, with what became of the requests of each turn: some are answered
    /// later, and that one was lost silently is only known in the end.
    #[must_use]
    pub fn with_losses_of(self, run: &local::Run) -> Self {
        self.with_losses(run.log.first(run.turns).iter().map(|turn| losses(&turn.traffic)).collect())
    }
}

impl Observer for Recording {
    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        self.state(at.time, attempt.replica, Some(attempt.condition.state()));
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        let replica = transition.replica.index as usize;
        self.state(at.time, replica, Some(condition.state()));
        let Transition { kind, reason, .. } = *transition;
        self.decision(replica, Decision { at: at.time, kind, reason, state: condition.state() });
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        for (replica, Member { condition, standing }) in turn.replicas.iter().enumerate() {
            let (state, membership) = match standing {
                Standing::Absent => (None, Membership::Out),
                Standing::Out => (Some(condition.state()), Membership::Out),
                Standing::In => (Some(condition.state()), Membership::In),
            };
            self.state(at.time, replica, state);
            self.membership(at.time, replica, membership);
        }
        self.turn_is_over(losses(turn.traffic));
    }
}

fn losses(traffic: &Traffic) -> Losses {
    let silent = RequestKind::ALL.into_iter().map(|kind| traffic.kinds[kind].lost_silently).sum();
    Losses { failed: traffic.errors(), silent }
}
