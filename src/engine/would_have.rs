//! What enforcing a policy would have done while it was only observed.

use std::fmt;

use super::Obstacle;

/// What enforcing would have done, since the policy's present generation is observed.
///
/// Every decision is taken as if it were enforced, on what is seen of replicas to which nothing was done. What a restart
/// would have come to is not known, so a failure counts for one however long it lasts, and none counts as futile. A
/// failure that was under way when the engine began counts for nothing: the engine before has counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WouldHave {
    /// Restarts that would have been ordered.
    pub restarted: u32,
    /// Of those, of replicas that had not finished starting.
    pub in_startup: u32,
    /// Restarts and ejections while most judged replicas failed the rule that wanted them.
    pub in_shared_failure: u32,
    /// Replicas that would have been taken out of the pool.
    pub ejected: u32,
    /// Replicas that would have been let into the pool.
    pub admitted: u32,
    /// Restarts that the breaker would have held, be it for a while.
    pub held_by_breaker: u32,
    /// Ejections that the floor would have held, be it for a while.
    pub held_by_floor: u32,
    /// Ejections that would have been held since most replicas failed, be it for a while.
    pub held_by_shared_failure: u32,
    /// Ejections and restarts that would have been held since a dependency failed, be it for a while.
    pub held_by_dependency: u32,
}

impl WouldHave {
    /// Something would have been held.
    pub(super) fn hold(&mut self, by: Obstacle) {
        match by {
            Obstacle::Breaker { .. } => self.held_by_breaker += 1,
            Obstacle::Floor { .. } => self.held_by_floor += 1,
            Obstacle::SharedFailure { .. } => self.held_by_shared_failure += 1,
            Obstacle::DependencyDown { .. } => self.held_by_dependency += 1,
            Obstacle::MaxConcurrent { .. }
            | Obstacle::Backoff { .. }
            | Obstacle::RestartBudget { .. }
            | Obstacle::NeverPassed
            | Obstacle::Dwell { .. }
            | Obstacle::DependencyAsked { .. }
            | Obstacle::NotRecreated
            | Obstacle::ScaledDown
            | Obstacle::OnDelete
            | Obstacle::LowerOrdinalNotReady
            | Obstacle::NodeNotReady
            | Obstacle::KubeletBackoff
            | Obstacle::GaveUp { .. }
            | Obstacle::Refused(_) => {}
        }
    }

    /// Every count with its name, the same in status, metrics and state.
    pub const fn counts(&self) -> [(&'static str, u32); 9] {
        let Self {
            restarted,
            in_startup,
            in_shared_failure,
            ejected,
            admitted,
            held_by_breaker,
            held_by_floor,
            held_by_shared_failure,
            held_by_dependency,
        } = *self;
        [
            ("restarted", restarted),
            ("inStartup", in_startup),
            ("inSharedFailure", in_shared_failure),
            ("ejected", ejected),
            ("admitted", admitted),
            ("heldByBreaker", held_by_breaker),
            ("heldByFloor", held_by_floor),
            ("heldBySharedFailure", held_by_shared_failure),
            ("heldByDependency", held_by_dependency),
        ]
    }
}

/// What follows "it would have", without a full stop.
impl fmt::Display for WouldHave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { restarted, in_startup, in_shared_failure, ejected, admitted, .. } = self;
        write!(
            f,
            "restarted {restarted} ({in_startup} of them starting), ejected {ejected} and admitted \
             {admitted}, {in_shared_failure} of that in a shared failure; the breaker would have held {} restarts, the \
             floor {} ejections, a shared failure {}, a dependency {} of either",
            self.held_by_breaker, self.held_by_floor, self.held_by_shared_failure, self.held_by_dependency
        )
    }
}
