//! What one process has to act out.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Start;
use crate::engine::{Span, Time};
use crate::scenario::{Condition, Leave, Opening, Scenario, Stores, TrueState};

/// A scenario on the wall clock.
#[derive(Clone, Debug)]
pub struct Timing {
    scenario: Scenario,
    start: Start,
}

/// The part of a scenario that one process of one replica plays.
#[derive(Clone, Debug)]
pub struct Script {
    timing: Timing,
    replica: u32,
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

impl Timing {
    /// A scenario that begins so.
    pub fn new(scenario: Scenario, start: Start) -> Self {
        Self { scenario, start }
    }

    /// Which shared stores are up at an instant. Before t = 0 all of them are.
    pub fn stores(&self, wall: Timestamp) -> Stores {
        let Some(now) = self.start.time(wall) else { return Stores::UP };
        match self.start {
            Start::Repeat => self.scenario.stores_repeating(now),
            Start::At(_) => self.scenario.stores(now),
        }
    }

    /// For how long an entry of the registry lives after its last beat; none if there is no registry.
    pub fn time_to_live(&self) -> Option<Span> {
        Some(self.scenario.turn() * u64::from(self.scenario.registry()?.time_to_live.get()))
    }

    /// The turn; none before t = 0, and from the first again in a scenario that repeats.
    fn turn(&self, wall: Timestamp) -> Option<u64> {
        let turn = self.scenario.turn_at(self.start.time(wall)?);
        let first = u64::from(self.scenario.first_turn());
        Some(match self.start {
            Start::Repeat => first + (turn - first) % u64::from(self.scenario.turns()),
            Start::At(_) => turn,
        })
    }

    /// The first multiple of a span, counted from t = 0, that comes after an instant.
    fn next_multiple(&self, span: Span, after: Timestamp) -> Timestamp {
        let Some(now) = self.start.time(after) else { return self.start.instant(Time::ZERO) };
        let passed = now.as_nanos() / span.as_nanos().max(1);
        self.start.instant(Time::ZERO + span * (passed + 1))
    }
}

impl Script {
    /// The part of the process that was opened at `opened` as this replica.
    pub fn new(timing: Timing, replica: u32, opened: Timestamp) -> Result<Self, NoSuchReplica> {
        let last = timing.scenario.replicas().saturating_sub(1);
        if replica as usize > last {
            return Err(NoSuchReplica { replica, last });
        }
        Ok(Self { timing, replica, opened })
    }

    /// All that is true at an instant. Before t = 0 every process is healthy that is there from the beginning.
    pub fn condition(&self, wall: Timestamp) -> Condition {
        let Timing { scenario, start } = &self.timing;
        let Some(now) = start.time(wall) else {
            let joins = scenario.joins(self.replica()).is_some();
            return if joins { TrueState::Stopped.into() } else { Condition::HEALTHY };
        };
        match start {
            Start::Repeat => scenario.condition_repeating(self.replica(), self.opening(), now),
            Start::At(_) => scenario.condition(self.replica(), self.opening(), now),
        }
    }

    /// Which shared stores the script lets be up.
    pub fn stores(&self, wall: Timestamp) -> Stores {
        self.timing.stores(wall)
    }

    /// The first instant after `wall` at which something may become true or untrue; none if nothing ever does.
    pub fn next_change(&self, wall: Timestamp) -> Option<Timestamp> {
        let Timing { scenario, start } = &self.timing;
        match (start, start.time(wall)) {
            (_, None) => Some(start.instant(Time::ZERO)),
            (Start::At(_), Some(now)) => {
                scenario.next_change(self.replica(), self.opening(), now).map(|at| start.instant(at))
            }
            (Start::Repeat, Some(_)) => Some(self.timing.next_multiple(scenario.turn(), wall)),
        }
    }

    /// When the process ends by itself, to be opened again as planned.
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.next(self.timing.scenario.reopenings(self.replica()), self.opened)
    }

    /// When the next beat is due after `wall`; none if the scenario has no registry.
    pub fn next_beat(&self, wall: Timestamp) -> Option<Timestamp> {
        let scenario = &self.timing.scenario;
        let beat = scenario.turn() * u64::from(scenario.registry()?.beat.get());
        Some(self.timing.next_multiple(beat, wall))
    }

    /// Whether the process sends the beat that is due at an instant: it is up, or it dies in this very turn.
    pub fn beats(&self, wall: Timestamp) -> bool {
        let now = self.condition(wall);
        let before = self.condition(wall - Duration::from(self.timing.scenario.turn()));
        now.is_up() || (now.is(TrueState::Stopped) && before.is_up())
    }

    /// When the process goes next after `wall` that takes its entry out of the registry first.
    pub fn next_leave(&self, wall: Timestamp) -> Option<Timestamp> {
        let stops = self.timing.scenario.stops(self.replica()).filter(|stop| stop.leave == Leave::Graceful);
        self.next(stops.map(|stop| stop.from), wall)
    }

    /// What the process says of itself at an instant.
    pub fn truth(&self, wall: Timestamp, host: Option<String>) -> Truth {
        Truth {
            replica: self.replica,
            host,
            state: self.condition(wall).state(),
            turn: self.timing.turn(wall),
            opened: self.opened,
        }
    }

    fn replica(&self) -> usize {
        self.replica as usize
    }

    /// A process that was there before its replica joins is opened by that.
    fn opening(&self) -> Opening {
        let opened = self.timing.start.time(self.opened);
        match self.timing.scenario.joins(self.replica()).filter(|joins| opened < Some(*joins)) {
            Some(joins) => Opening::Planned(joins),
            None => opened.map_or(Opening::Warm, Opening::Restart),
        }
    }

    /// When that which happens at these times happens next after an instant.
    fn next(&self, times: impl Iterator<Item = Time>, after: Timestamp) -> Option<Timestamp> {
        let start = &self.timing.start;
        let after = start.time(after);
        let next = match start {
            Start::At(_) => times.filter(|at| after < Some(*at)).min(),
            Start::Repeat => times.map(|at| self.next_run_of(at, after.unwrap_or_default())).min(),
        };
        next.map(|at| start.instant(at))
    }

    /// When that which happens at a time of every run happens next after `after`.
    fn next_run_of(&self, at: Time, after: Time) -> Time {
        let length = self.timing.scenario.length();
        if after < at { at } else { at + length * (after.since(at).as_nanos() / length.as_nanos() + 1) }
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
        Script::new(timing(text, start), 0, at(opened)).unwrap()
    }

    fn timing(text: &str, start: &str) -> Timing {
        Timing::new(ScenarioFile::parse("s.yaml", text).unwrap(), start.parse().unwrap())
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
        let Script { timing, opened, .. } = script("repeat", "12:00:00");
        assert_eq!(
            Script::new(timing, 1, opened).unwrap_err().to_string(),
            "there is no replica 1 in the script, only 0 to 0"
        );
    }

    /// Ten turns of a second, a beat every third: gone from 3 to 5, and in an orderly way from 7 on; replica 1 joins at 4.
    fn registered(replica: u32) -> Script {
        let text = "
            turn: 1s
            turns: 10
            requestsPerTurn: 1
            replicas: {count: 2, startup: 2, joins: {1: 4}}
            registry: {beat: 3, timeToLive: 9}
            faults:
              - {replica: 0, at: 3, stopped: {through: 5}}
              - {replica: 0, at: 7, stopped: {graceful: true}}";
        Script::new(timing(text, START), replica, at("11:59:59")).unwrap()
    }

    #[test]
    fn beats_are_due_on_multiples_and_sent_by_who_is_up_or_dies_in_that_very_turn() {
        let script = registered(0);
        assert_eq!(script.next_beat(at("11:59:59")), Some(at("12:00:00")));
        assert_eq!(script.next_beat(at("12:00:00")), Some(at("12:00:03")));
        let sent = [0, 3, 6, 9].map(|second| script.beats(at(&format!("12:00:0{second}"))));
        assert_eq!(sent, [true, true, true, false]);
        assert_eq!(script.next_leave(at("12:00:00")), Some(at("12:00:07")));
        assert_eq!(script.next_leave(at("12:00:07")), None);
    }

    #[test]
    fn in_a_script_that_repeats_a_process_leaves_the_registry_in_every_run() {
        let Script { timing, opened, .. } = registered(0);
        let script = Script::new(Timing { start: Start::Repeat, ..timing }, 0, opened).unwrap();
        assert_eq!(script.next_leave(at("12:00:00")), Some(at("12:00:07")));
        assert_eq!(script.next_leave(at("12:00:07")), Some(at("12:00:17")));
    }

    #[test]
    fn a_process_that_is_there_before_its_replica_joins_is_opened_by_that() {
        let script = registered(1);
        for (time, state) in [
            ("11:59:59", TrueState::Stopped),
            ("12:00:03.9", TrueState::Stopped),
            ("12:00:04", TrueState::Starting),
            ("12:00:06", TrueState::Healthy),
        ] {
            assert_eq!(script.condition(at(time)).state(), state, "{time}");
        }
        assert_eq!(script.next_change(at("12:00:00")), Some(at("12:00:04")));
    }
}
