//! The lesson's columns: what came of a run, in any world.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Cell;
use crate::engine::Time;
use crate::fake_app::load::Summary;
use crate::scenario::{Opening, Scenario, TrueState};
use crate::{local, model};

/// Restarts of one replica that make a loop.
const LOOP: usize = 3;

/// A restart, planned reopenings apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// Which replica.
    pub replica: usize,
    /// What it really was.
    pub state: TrueState,
    /// Turns since its latest stuck fault that held, if one did.
    pub since_stuck: Option<f64>,
}

impl Restart {
    /// The restart, at a time of the scenario, of a process that was opened so.
    pub fn new(scenario: &Scenario, replica: usize, opening: Opening, at: Time) -> Self {
        let turn = scenario.turn().as_secs_f64();
        let stuck = scenario.stuck_since(replica, opening, at);
        Self {
            replica,
            state: scenario.condition(replica, opening, at).state(),
            since_stuck: stuck.map(|stuck| at.since(stuck).as_secs_f64() / turn),
        }
    }
}

/// What the requests met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Failed requests on a member that was starting.
    pub early_errors: u64,
    /// Failed requests.
    pub total_errors: u64,
    /// Healthy replicas a turn, in the pool or not, on average.
    pub truly_serving: f64,
}

impl From<&Summary> for Traffic {
    fn from(summary: &Summary) -> Self {
        Self {
            early_errors: summary.early_errors,
            total_errors: summary.total_errors,
            truly_serving: summary.truly_serving.unwrap_or_default(),
        }
    }
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Restarts.
    pub restarts: usize,
    /// Restarts of replicas that were not stuck.
    pub unnecessary: usize,
    /// Restarts of replicas that were starting.
    pub killed_in_startup: usize,
    /// Replicas that were restarted three times or more.
    pub in_loop: usize,
    /// Failed requests on a member that was starting.
    pub early_errors: u64,
    /// Failed requests.
    pub total_errors: u64,
    /// Healthy replicas a turn, in the pool or not, on average.
    pub truly_serving: f64,
    /// For each restart of a stuck replica, in their order, the turns since its stuck fault.
    pub detection: Vec<f64>,
}

/// The names of the columns.
pub const COLUMNS: [&str; 8] = [
    "restarts",
    "unnecessary",
    "killed_in_startup",
    "in_loop",
    "early_errors",
    "total_errors",
    "truly_serving",
    "detection",
];

impl Figures {
    /// The figures of a run with these restarts, in their order, and this traffic.
    pub fn new(restarts: &[Restart], traffic: Traffic) -> Self {
        let of = |state| restarts.iter().filter(move |restart| restart.state == state);
        let mut by_replica = BTreeMap::<usize, usize>::new();
        for restart in restarts {
            *by_replica.entry(restart.replica).or_default() += 1;
        }
        Self {
            restarts: restarts.len(),
            unnecessary: restarts.len() - of(TrueState::Stuck).count(),
            killed_in_startup: of(TrueState::Starting).count(),
            in_loop: by_replica.into_values().filter(|times| *times >= LOOP).count(),
            early_errors: traffic.early_errors,
            total_errors: traffic.total_errors,
            truly_serving: traffic.truly_serving,
            detection: of(TrueState::Stuck).filter_map(|restart| restart.since_stuck).collect(),
        }
    }

    /// The figures, by [`COLUMNS`].
    pub fn columns(&self) -> [Cell; 8] {
        [
            Cell::Count(self.restarts as u64),
            Cell::Count(self.unnecessary as u64),
            Cell::Count(self.killed_in_startup as u64),
            Cell::Count(self.in_loop as u64),
            Cell::Count(self.early_errors),
            Cell::Count(self.total_errors),
            Cell::Decimals(self.truly_serving, 2),
            Cell::Each(self.detection.clone()),
        ]
    }

    /// The figures as they are printed, by [`COLUMNS`].
    pub fn cells(&self) -> [String; 8] {
        self.columns().map(|cell| cell.print())
    }
}

impl From<&model::Run> for Figures {
    fn from(run: &model::Run) -> Self {
        let restarts: Vec<_> = run
            .restarts
            .iter()
            .map(|restart| Restart {
                replica: restart.replica,
                state: restart.state,
                since_stuck: restart.since_stuck.map(f64::from),
            })
            .collect();
        let traffic = Traffic {
            early_errors: run.traffic.early_errors,
            total_errors: run.total_errors(),
            truly_serving: run.truly_serving(),
        };
        Self::new(&restarts, traffic)
    }
}

impl From<&local::Run> for Figures {
    fn from(run: &local::Run) -> Self {
        let restart =
            |restart: &local::Restart| Restart::new(&run.scenario, restart.replica, restart.opening, restart.at);
        let restarts: Vec<_> = run.restarts.iter().map(restart).collect();
        let turns = run.log.first(run.turns);
        let looks: Vec<_> = turns.iter().filter_map(|turn| turn.look).collect();
        let healthy: usize = looks.iter().map(|look| look.healthy).sum();
        let traffic = Traffic {
            early_errors: run.traffic().early_errors,
            total_errors: run.traffic().errors(),
            truly_serving: healthy as f64 / looks.len().max(1) as f64,
        };
        Self::new(&restarts, traffic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAFFIC: Traffic = Traffic { early_errors: 3, total_errors: 10, truly_serving: 7.125 };

    fn restart(replica: usize, state: TrueState, since_stuck: Option<f64>) -> Restart {
        Restart { replica, state, since_stuck }
    }

    #[test]
    fn restarts_are_told_apart_by_what_the_replica_really_was() {
        let figures = Figures::new(
            &[
                restart(6, TrueState::Starting, None),
                restart(6, TrueState::Starting, Some(2.0)),
                restart(1, TrueState::Stuck, Some(10.0)),
                restart(6, TrueState::Healthy, None),
                restart(3, TrueState::DependencyLost, None),
                restart(5, TrueState::Stuck, Some(11.5)),
                restart(5, TrueState::Stuck, Some(3.0)),
            ],
            TRAFFIC,
        );
        assert_eq!(figures.cells(), ["7", "4", "2", "1", "3", "10", "7.13", "10 11.50 3"]);
    }

    #[test]
    fn nothing_detected_is_a_dash() {
        assert_eq!(Figures::new(&[], TRAFFIC).cells()[7], "-");
    }
}
