//! The true state of a replica at an instant.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Scenario;
use crate::engine::{Span, Time};

/// What a replica really is. Of several at once the first in this order holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrueState {
    /// Its startup time is not over.
    Starting,
    /// It answers nothing until it is restarted.
    Stuck,
    /// It lacks what it depends on, which comes back by itself.
    DependencyLost,
    /// It serves.
    Healthy,
}

/// When, and why, a replica's process was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Before t = 0: startup is over, and every fault is still ahead.
    Warm,
    /// As planned. Reopenings come first in a turn, so a fault of that very instant hits it.
    Planned(Time),
    /// By a restart. Decisions come last in a turn, so a fault of that very instant is behind it.
    Restart(Time),
}

impl Scenario {
    /// The true state of a replica at `now`; a replica that the scenario does not have is healthy.
    pub fn state(&self, replica: usize, opening: Opening, now: Time) -> TrueState {
        self.state_by(replica, opening, now, |at| (at <= now).then_some(at))
    }

    /// The same in a scenario that repeats for ever, with times that count from the beginning of its first run. What
    /// outlasts the end of a run goes on in the next one.
    pub fn state_repeating(&self, replica: usize, opening: Opening, now: Time) -> TrueState {
        let length = self.length();
        self.state_by(replica, opening, now, |at| {
            (at <= now).then(|| at + length * (now.since(at).as_nanos() / length.as_nanos()))
        })
    }

    /// The latest stuck fault that has hit the process and still holds at `now`; it may not show while it is starting.
    pub fn stuck_since(&self, replica: usize, opening: Opening, now: Time) -> Option<Time> {
        self.stuck_by(replica, opening, |at| (at <= now).then_some(at))
    }

    /// `latest` says when, up to now, that which happens at a time of the scenario has happened last.
    fn state_by(
        &self,
        replica: usize,
        opening: Opening,
        now: Time,
        latest: impl Fn(Time) -> Option<Time>,
    ) -> TrueState {
        let starting = match opening {
            Opening::Warm => false,
            Opening::Planned(opened) | Opening::Restart(opened) => now.since(opened) < self.startup(replica),
        };
        if starting {
            TrueState::Starting
        } else if self.stuck_by(replica, opening, &latest).is_some() {
            TrueState::Stuck
        } else if self.outages(replica).any(|(at, span)| latest(at).is_some_and(|at| now.since(at) < span)) {
            TrueState::DependencyLost
        } else {
            TrueState::Healthy
        }
    }

    fn stuck_by(&self, replica: usize, opening: Opening, latest: impl Fn(Time) -> Option<Time>) -> Option<Time> {
        let hit = |at: &Time| match opening {
            Opening::Warm => true,
            Opening::Planned(opened) => *at >= opened,
            Opening::Restart(opened) => *at > opened,
        };
        let turns = self.replicas.get(replica).map_or(&[][..], |replica| &replica.stuck);
        turns.iter().filter_map(|&turn| latest(self.begin_of(turn))).filter(hit).max()
    }

    fn outages(&self, replica: usize) -> impl Iterator<Item = (Time, Span)> + '_ {
        let lost = self.replicas.get(replica).map_or(&[][..], |replica| &replica.dependency_lost);
        lost.iter().map(|lost| (self.begin_of(lost.at), self.turn * u64::from(lost.turns)))
    }
}

impl TrueState {
    /// Every state, in the order in which they take precedence.
    pub const ALL: [Self; 4] = [Self::Starting, Self::Stuck, Self::DependencyLost, Self::Healthy];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Stuck => "stuck",
            Self::DependencyLost => "dependency-lost",
            Self::Healthy => "healthy",
        }
    }
}

impl fmt::Display for TrueState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ScenarioFile;

    /// One replica: startup 6, stuck at 20 and 30, dependency lost 25..=28, 40 turns of a second.
    fn scenario() -> Scenario {
        let text = "
            turn: 1s
            turns: 40
            requestsPerTurn: 1
            replicas: {count: 1, startup: 6}
            faults:
              - {replica: 0, at: 30, stuck: {}}
              - {replica: 0, at: 20, stuck: {}}
              - {replica: 0, at: 25, dependencyLost: {for: 4}}";
        ScenarioFile::parse("s.yaml", text).unwrap()
    }

    fn t(turn: u64) -> Time {
        Time::ZERO + Span::from_secs(turn)
    }

    #[test]
    fn a_warm_replica_does_not_start() {
        assert_eq!(scenario().state(0, Opening::Warm, t(0)), TrueState::Healthy);
    }

    #[test]
    fn a_reopened_replica_starts_for_its_startup_time_and_no_longer() {
        let (scenario, opening) = (scenario(), Opening::Planned(t(3)));
        assert_eq!(scenario.state(0, opening, t(3)), TrueState::Starting);
        assert_eq!(scenario.state(0, opening, t(8)), TrueState::Starting);
        assert_eq!(scenario.state(0, opening, t(9)), TrueState::Healthy);
    }

    #[test]
    fn a_stuck_fault_holds_until_a_restart() {
        let scenario = scenario();
        assert_eq!(scenario.state(0, Opening::Warm, t(19)), TrueState::Healthy);
        assert_eq!(scenario.state(0, Opening::Warm, t(20)), TrueState::Stuck);
        assert_eq!(scenario.state(0, Opening::Warm, t(39)), TrueState::Stuck);
        assert_eq!(scenario.state(0, Opening::Restart(t(21)), t(29)), TrueState::Healthy);
    }

    #[test]
    fn a_stuck_fault_in_startup_shows_when_startup_is_over() {
        let (scenario, opening) = (scenario(), Opening::Restart(t(18)));
        assert_eq!(scenario.state(0, opening, t(23)), TrueState::Starting);
        assert_eq!(scenario.stuck_since(0, opening, t(23)), Some(t(20)));
        assert_eq!(scenario.state(0, opening, t(24)), TrueState::Stuck);
    }

    #[test]
    fn a_fault_of_the_same_instant_hits_a_planned_opening_but_not_a_restart() {
        let scenario = scenario();
        assert_eq!(scenario.stuck_since(0, Opening::Planned(t(20)), t(20)), Some(t(20)));
        assert_eq!(scenario.stuck_since(0, Opening::Restart(t(20)), t(20)), None);
    }

    #[test]
    fn detection_counts_from_the_latest_stuck_fault() {
        assert_eq!(scenario().stuck_since(0, Opening::Warm, t(29)), Some(t(20)));
        assert_eq!(scenario().stuck_since(0, Opening::Warm, t(30)), Some(t(30)));
    }

    #[test]
    fn a_lost_dependency_comes_back_by_itself_and_no_restart_helps() {
        let (scenario, opening) = (scenario(), Opening::Restart(t(20)));
        assert_eq!(scenario.state(0, opening, t(25)), TrueState::Starting);
        assert_eq!(scenario.state(0, opening, t(26)), TrueState::DependencyLost);
        assert_eq!(scenario.state(0, opening, t(28)), TrueState::DependencyLost);
        assert_eq!(scenario.state(0, opening, t(29)), TrueState::Healthy);
    }

    #[test]
    fn in_a_repeating_scenario_every_run_brings_the_faults_again() {
        let (scenario, opening) = (scenario(), Opening::Restart(t(32)));
        assert_eq!(scenario.state_repeating(0, opening, t(37)), TrueState::Starting);
        assert_eq!(scenario.state_repeating(0, opening, t(59)), TrueState::Healthy);
        assert_eq!(scenario.state_repeating(0, opening, t(60)), TrueState::Stuck);
        assert_eq!(scenario.state_repeating(0, opening, t(85)), TrueState::Stuck);
        assert_eq!(scenario.state_repeating(0, Opening::Restart(t(71)), t(86)), TrueState::Healthy);
        assert_eq!(scenario.state_repeating(0, Opening::Restart(t(70)), t(108)), TrueState::Stuck);
    }
}
