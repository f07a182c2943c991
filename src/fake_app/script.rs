//! What one process has to act out.

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Start;
use crate::engine::Time;
use crate::scenario::{Condition, Opening, Scenario, Stores, TrueState};

/// The part of a scenario that one process of one replica plays.
#[derive(Clone, Debug)]
pub struct Script {
    scenario: Scenario,
    replica: u32,
    start: Start,
    opened: Timestamp,
}

/// That a scenario has no part for a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no replica {replica} in the script, only 0 to {last}")]
pub struct NoSuchReplica {
    replica: u32,
    last: usize,
}

/// What a process says of itself to those who measure. Nobody who judges may ask for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// The replica's number.
    pub replica: u32,
    /// The host's name, in a cluster the pod's.
    pub host: Option<String>,
    /// The true state.
    pub state: TrueState,
    /// The turn of the scenario; none before t = 0, and from the first again in a scenario that repeats.
    pub turn: Option<u64>,
    /// When the process was opened.
    pub opened: Timestamp,
}

impl Script {
    /// The part of the process that was opened at `opened` as this replica.
    pub fn new(scenario: Scenario, replica: u32, start: Start, opened: Timestamp) -> Result<Self, NoSuchReplica> {
        let last = scenario.replicas().saturating_sub(1);
        if replica as usize > last {
            return Err(NoSuchReplica { replica, last });
        }
        Ok(Self { scenario, replica, start, opened })
    }

    /// All that is true at an instant. Before t = 0 every process is healthy.
    pub fn condition(&self, wall: Timestamp) -> Condition {
        let Some(now) = self.start.time(wall) else { return Condition::HEALTHY };
        match self.start {
            Start::Repeat => self.scenario.condition_repeating(self.replica as usize, self.opening(), now),
            Start::At(_) => self.scenario.condition(self.replica as usize, self.opening(), now),
        }
    }

    /// Which shared stores are up at an instant. Before t = 0 all of them are.
    pub fn stores(&self, wall: Timestamp) -> Stores {
        let Some(now) = self.start.time(wall) else { return Stores::UP };
        match self.start {
            Start::Repeat => self.scenario.stores_repeating(now),
            Start::At(_) => self.scenario.stores(now),
        }
    }

    /// When the process ends by itself, to be opened again as planned.
    pub fn ends_at(&self) -> Option<Timestamp> {
        let opened = self.start.time(self.opened);
        let reopenings = self.scenario.reopenings(self.replica as usize);
        let next = match self.start {
            Start::At(_) => reopenings.filter(|at| opened < Some(*at)).min(),
            Start::Repeat => reopenings.map(|at| self.next_run_of(at, opened.unwrap_or_default())).min(),
        };
        next.map(|at| self.start.instant(at))
    }

    /// What the process says of itself at an instant.
    pub fn truth(&self, wall: Timestamp, host: Option<String>) -> Truth {
        let turn = self.start.time(wall).map(|now| match self.start {
            Start::Repeat => self.turn_of_run(now),
            Start::At(_) => self.scenario.turn_at(now),
        });
        Truth { replica: self.replica, host, state: self.condition(wall).state(), turn, opened: self.opened }
    }

    fn opening(&self) -> Opening {
        self.start.time(self.opened).map_or(Opening::Warm, Opening::Restart)
    }

    fn turn_of_run(&self, now: Time) -> u64 {
        let first = u64::from(self.scenario.first_turn());
        first + (self.scenario.turn_at(now) - first) % u64::from(self.scenario.turns())
    }

    /// When that which happens at a time of every run happens next after `opened`.
    fn next_run_of(&self, at: Time, opened: Time) -> Time {
        let length = self.scenario.length();
        if opened < at { at } else { at + length * (opened.since(at).as_nanos() / length.as_nanos() + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ScenarioFile;

    /// Ten turns of a second: startup 2, reopened at 3 and 7, stuck at 5.
    fn script(start: &str, opened: &str) -> Script {
        let text = "
            turn: 1s
            turns: 10
            requestsPerTurn: 1
            replicas: {count: 1, startup: 2}
            reopenings: [{replica: 0, at: 7}, {replica: 0, at: 3}]
            faults: [{replica: 0, at: 5, stuck: {}}]";
        Script::new(ScenarioFile::parse("s.yaml", text).unwrap(), 0, start.parse().unwrap(), at(opened)).unwrap()
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-03-01T{time}Z").parse().unwrap()
    }

    const START: &str = "2026-03-01T12:00:00Z";

    #[test]
    fn a_process_opened_before_the_start_is_warm_and_lives_to_its_first_reopening() {
        let script = script(START, "11:59:59.9");
        assert_eq!(script.condition(at("11:59:59.9")).state(), TrueState::Healthy);
        assert_eq!(script.condition(at("12:00:00")).state(), TrueState::Healthy);
        assert_eq!(script.ends_at(), Some(at("12:00:03")));
        assert_eq!(script.truth(at("11:59:59.9"), None).turn, None);
    }

    #[test]
    fn a_process_opened_later_starts_first_and_knows_what_is_behind_it() {
        let script = script(START, "12:00:05.2");
        assert_eq!(script.condition(at("12:00:07.1")).state(), TrueState::Starting);
        assert_eq!(script.condition(at("12:00:07.2")).state(), TrueState::Healthy);
        assert_eq!(script.ends_at(), Some(at("12:00:07")));
        assert_eq!(script.truth(at("12:00:06.5"), None).turn, Some(6));
    }

    #[test]
    fn a_process_opened_at_its_reopening_does_not_end_for_it_again() {
        assert_eq!(script(START, "12:00:07").ends_at(), None);
        assert_eq!(script("repeat", "12:00:07").ends_at(), Some(at("12:00:13")));
    }

    #[test]
    fn a_repeating_scenario_is_aligned_to_the_epoch() {
        let script = script("repeat", "12:00:18");
        assert_eq!(script.ends_at(), Some(at("12:00:23")));
        assert_eq!(script.truth(at("12:00:21.5"), None).turn, Some(1));
        assert_eq!(script.condition(at("12:00:19.9")).state(), TrueState::Starting);
        assert_eq!(script.condition(at("12:00:24.9")).state(), TrueState::Healthy);
        assert_eq!(script.condition(at("12:00:25")).state(), TrueState::Stuck);
    }

    #[test]
    fn a_replica_that_the_scenario_lacks_has_no_part() {
        let Script { scenario, start, opened, .. } = script("repeat", "12:00:00");
        assert_eq!(
            Script::new(scenario, 1, start, opened).unwrap_err().to_string(),
            "there is no replica 1 in the script, only 0 to 0"
        );
    }
}
