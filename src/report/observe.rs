//! The model, recorded.

use super::{Membership, Recording};
use crate::engine::Transition;
use crate::model::{Attempt, Member, Moment, Observer, Standing, Turn};
use crate::scenario::{Condition, Scenario};

impl Recording {
    /// Nothing of this scenario has happened yet.
    pub fn of(scenario: &Scenario) -> Self {
        Self::new(scenario.replicas(), scenario.turn(), scenario.first_turn())
    }
}

impl Observer for Recording {
    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        self.state(at.time, attempt.replica, Some(attempt.condition.state()));
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        let replica = transition.replica.index as usize;
        self.state(at.time, replica, Some(condition.state()));
        self.decision(at.time, replica, transition.kind, transition.reason);
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
        self.turn_is_over(turn.traffic.errors());
    }
}
