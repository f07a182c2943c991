//! What came of a run.

use super::Traffic;
use crate::engine::{Loss, PerRule, WouldHave};
use crate::scenario::{Condition, TrueState};

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Turns that were run.
    pub turns: u32,
    /// The restarts that the engine ordered, in their order.
    pub restarts: Vec<Restart>,
    /// Stuck replicas that no restart healed: those that were reopened as planned, and those still stuck at the end.
    pub undetected: u64,
    /// The replicas that the engine took out of the pool, in that order. A replica that is reopened is out by itself.
    pub ejections: Vec<Ejection>,
    /// How often each rule asked.
    pub attempts: PerRule<u64>,
    /// What became of all requests.
    pub traffic: Traffic,
    /// Failed requests, by turn.
    pub errors: Vec<u32>,
    /// Replicas that had joined and were out of the pool after a turn's decisions, summed over the turns.
    pub out_of_pool: u64,
    /// Healthy replicas after each turn's decisions, in the pool or not, summed over the turns.
    pub serving: u64,
    /// What costs the fleet capacity in the end, as the engine sees it.
    pub loss: Option<Loss>,
    /// What enforcing would have done, if the policy was observed.
    pub would_have: Option<WouldHave>,
}

/// A restart that the engine ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Which replica.
    pub replica: usize,
    /// In which turn, by its number.
    pub turn: u32,
    /// What the replica really was.
    pub state: TrueState,
    /// Turns since the latest stuck fault that held, if one did.
    pub since_stuck: Option<u32>,
}

/// A replica was in the pool, and the engine took it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// Which replica.
    pub replica: usize,
    /// In which turn, by its number.
    pub turn: u32,
    /// What was true of it.
    pub condition: Condition,
}

impl Run {
    /// Failed requests of the whole run.
    pub fn total_errors(&self) -> u64 {
        self.traffic.errors()
    }

    /// Healthy replicas a turn, on the average.
    pub fn truly_serving(&self) -> f64 {
        self.serving as f64 / f64::from(self.turns)
    }

    /// Replicas that were restarted `times` times or more.
    pub fn restarted(&self, times: usize) -> usize {
        let mut replicas: Vec<_> = self.restarts.iter().map(|restart| restart.replica).collect();
        replicas.sort_unstable();
        replicas.chunk_by(|a, b| a == b).filter(|restarts| restarts.len() >= times).count()
    }
}
