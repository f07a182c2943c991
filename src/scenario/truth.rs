//! What is true, and when: a pure function of the scenario, of when a process was opened, and of time.

use super::replica::Replica;
use super::timeline::Timeline;
use super::{Condition, Leave, Scenario, Stores, TrueState};
use crate::engine::{Span, Time};

/// When, and why, a replica's process was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Before t = 0: startup is over, and every fault is still ahead.
    Warm,
    /// As planned, or because it joins. That comes first in a turn, so a fault of that very instant hits it.
    Planned(Time),
    /// By a restart. Decisions come last in a turn, so a fault of that very instant is behind it.
    Restart(Time),
}

/// A process is gone for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// From when.
    pub from: Time,
    /// When it is back; none if it is gone for good.
    pub until: Option<Time>,
    /// How it goes.
    pub leave: Leave,
}

impl Scenario {
    /// All that is true of a replica at `now`. Before it joins it is stopped; one that the scenario does not have is
    /// healthy.
    pub fn condition(&self, replica: usize, opening: Opening, now: Time) -> Condition {
        let Some(part) = self.replicas.get(replica) else { return Condition::HEALTHY };
        let spells = part.faults.spells.at(self.index_at(now));
        let stuck = self.stuck_since(replica, opening, now);
        spells | self.of_process(replica, opening, now, stuck)
    }

    /// The same in a scenario that repeats for ever, with times that count from the beginning of its first run. What
    /// outlasts the end of a run goes on in the next one.
    pub fn condition_repeating(&self, replica: usize, opening: Opening, now: Time) -> Condition {
        let Some(part) = self.replicas.get(replica) else { return Condition::HEALTHY };
        let spells = part.faults.spells.repeating_at(self.index_at(now), self.turns);
        let length = self.length();
        let in_latest_run = |at: Time| at + length * (now.since(at).as_nanos() / length.as_nanos());
        let stuck = part.faults.stuck.iter().map(|turn| self.begin(*turn)).filter(|at| *at <= now).map(in_latest_run);
        spells | self.of_process(replica, opening, now, stuck.filter(|at| opening.is_hit(*at)).max())
    }

    /// Whether the path to a replica is cut at `now` for whoever asks there.
    pub fn is_cut(&self, replica: usize, now: Time) -> bool {
        self.path(replica).is_some_and(|path| path.at(self.index_at(now)))
    }

    /// Which shared stores are up at `now`.
    pub fn stores(&self, now: Time) -> Stores {
        self.stores.at(self.index_at(now))
    }

    /// The same in a scenario that repeats for ever, as in [`Scenario::condition_repeating`].
    pub fn stores_repeating(&self, now: Time) -> Stores {
        self.stores.repeating_at(self.index_at(now), self.turns)
    }

    /// The latest stuck fault that has hit the process and still holds at `now`; it may not show while it is starting.
    pub fn stuck_since(&self, replica: usize, opening: Opening, now: Time) -> Option<Time> {
        let stuck = &self.replicas.get(replica)?.faults.stuck;
        let turn = self.index_at(now);
        let latest = stuck[..stuck.partition_point(|at| u64::from(*at) <= turn)].last()?;
        Some(self.begin(*latest)).filter(|at| opening.is_hit(*at))
    }

    /// The first time after `now` at which the condition of a replica, or the path to it, may become another, if it is not
    /// opened again.
    pub fn next_change(&self, replica: usize, opening: Opening, now: Time) -> Option<Time> {
        let part = self.replicas.get(replica)?;
        let turn = self.index_at(now);
        let stuck = &part.faults.stuck;
        let turns = [
            part.faults.spells.next_change(turn),
            stuck.get(stuck.partition_point(|at| u64::from(*at) <= turn)).copied(),
            part.joins,
            self.path(replica).and_then(|path| path.next_change(turn)),
        ];
        let startup = opening.time().map(|opened| [opened, opened + self.startup(replica, opened)]);
        let times = turns.into_iter().flatten().map(|turn| self.begin(turn)).chain(startup.into_iter().flatten());
        times.filter(|time| *time > now).min()
    }

    /// The first time after `now` at which another store is down or up.
    pub fn next_change_of_stores(&self, now: Time) -> Option<Time> {
        self.stores.next_change(self.index_at(now)).map(|turn| self.begin(turn))
    }

    /// How long a replica takes to start that is opened at that time; zero for one that the scenario does not have.
    pub fn startup(&self, replica: usize, opened: Time) -> Span {
        let Some(part) = self.replicas.get(replica) else { return Span::ZERO };
        self.turn * (u64::from(part.startup) + u64::from(self.jitter(replica, opened)))
    }

    /// When a replica is opened for the first time, if it is not there from the beginning.
    pub fn joins(&self, replica: usize) -> Option<Time> {
        self.replicas.get(replica)?.joins.map(|turn| self.begin(turn))
    }

    /// When a replica is reopened as planned, in the order of time.
    pub fn reopenings(&self, replica: usize) -> impl Iterator<Item = Time> + '_ {
        self.part(replica).flat_map(|part| &part.reopenings).map(|turn| self.begin(*turn))
    }

    /// When a replica's process is gone, in the order of time; these may overlap.
    pub fn stops(&self, replica: usize) -> impl Iterator<Item = Stop> + '_ {
        self.part(replica).flat_map(|part| &part.faults.stops).map(|&(from, until, leave)| Stop {
            from: self.begin(from),
            until: until.map(|turn| self.begin(turn)),
            leave,
        })
    }

    fn path(&self, replica: usize) -> Option<&Timeline<bool>> {
        self.paths.get(&self.replicas.get(replica)?.node)
    }

    fn part(&self, replica: usize) -> impl Iterator<Item = &Replica> {
        self.replicas.get(replica).into_iter()
    }

    /// What depends on when the process was opened.
    fn of_process(&self, replica: usize, opening: Opening, now: Time, stuck: Option<Time>) -> Condition {
        let starts = |opened| opened <= now && now.since(opened) < self.startup(replica, opened);
        let starting = opening.time().is_some_and(starts);
        let absent = self.joins(replica).is_some_and(|joins| now < joins);
        [(starting, TrueState::Starting), (stuck.is_some(), TrueState::Stuck), (absent, TrueState::Stopped)]
            .into_iter()
            .filter(|(holds, _)| *holds)
            .fold(Condition::HEALTHY, |condition, (_, state)| condition.with(state))
    }
}

impl Opening {
    fn time(self) -> Option<Time> {
        match self {
            Self::Warm => None,
            Self::Planned(opened) | Self::Restart(opened) => Some(opened),
        }
    }

    fn is_hit(self, at: Time) -> bool {
        match self {
            Self::Warm => true,
            Self::Planned(opened) => at >= opened,
            Self::Restart(opened) => at > opened,
        }
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
        assert_eq!(scenario().condition(0, Opening::Warm, t(0)).state(), TrueState::Healthy);
    }

    #[test]
    fn a_reopened_replica_starts_for_its_startup_time_and_no_longer() {
        let (scenario, opening) = (scenario(), Opening::Planned(t(3)));
        assert_eq!(scenario.condition(0, opening, t(3)).state(), TrueState::Starting);
        assert_eq!(scenario.condition(0, opening, t(8)).state(), TrueState::Starting);
        assert_eq!(scenario.condition(0, opening, t(9)).state(), TrueState::Healthy);
    }

    #[test]
    fn a_stuck_fault_holds_until_a_restart() {
        let scenario = scenario();
        assert_eq!(scenario.condition(0, Opening::Warm, t(19)).state(), TrueState::Healthy);
        assert_eq!(scenario.condition(0, Opening::Warm, t(20)).state(), TrueState::Stuck);
        assert_eq!(scenario.condition(0, Opening::Warm, t(39)).state(), TrueState::Stuck);
        assert_eq!(scenario.condition(0, Opening::Restart(t(21)), t(29)).state(), TrueState::Healthy);
    }

    #[test]
    fn a_stuck_fault_in_startup_shows_when_startup_is_over() {
        let (scenario, opening) = (scenario(), Opening::Restart(t(18)));
        assert_eq!(scenario.condition(0, opening, t(23)).state(), TrueState::Starting);
        assert_eq!(scenario.stuck_since(0, opening, t(23)), Some(t(20)));
        assert_eq!(scenario.condition(0, opening, t(24)).state(), TrueState::Stuck);
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
        assert_eq!(scenario.condition(0, opening, t(25)).state(), TrueState::Starting);
        assert_eq!(scenario.condition(0, opening, t(26)).state(), TrueState::DependencyLost);
        assert_eq!(scenario.condition(0, opening, t(28)).state(), TrueState::DependencyLost);
        assert_eq!(scenario.condition(0, opening, t(29)).state(), TrueState::Healthy);
    }

    #[test]
    fn in_a_repeating_scenario_every_run_brings_the_faults_again() {
        let (scenario, opening) = (scenario(), Opening::Restart(t(32)));
        assert_eq!(scenario.condition_repeating(0, opening, t(37)).state(), TrueState::Starting);
        assert_eq!(scenario.condition_repeating(0, opening, t(59)).state(), TrueState::Healthy);
        assert_eq!(scenario.condition_repeating(0, opening, t(60)).state(), TrueState::Stuck);
        assert_eq!(scenario.condition_repeating(0, opening, t(85)).state(), TrueState::Stuck);
        assert_eq!(scenario.condition_repeating(0, Opening::Restart(t(71)), t(86)).state(), TrueState::Healthy);
        assert_eq!(scenario.condition_repeating(0, Opening::Restart(t(70)), t(108)).state(), TrueState::Stuck);
    }

    #[test]
    fn between_two_changes_a_condition_is_the_same() {
        let text = "
            turn: 1s
            turns: 60
            requestsPerTurn: 1
            replicas: {count: 2, startup: 6, joins: {1: 9}}
            faults:
              - {replica: 0, at: 20, stuck: {}}
              - {replica: 0, at: 22, warming: {for: 4}}
              - {replica: 0, at: 24, silent: {for: 9}}
              - {replica: 1, at: 30, stopped: {}}
              - {store: state, at: 5, down: {for: 3}}";
        let scenario = ScenarioFile::parse("s.yaml", text).unwrap();
        let openings = [Opening::Warm, Opening::Planned(t(18)), Opening::Restart(t(21))];
        for (replica, opening) in [0, 1].into_iter().flat_map(|replica| openings.map(|opening| (replica, opening))) {
            let condition = |turn| scenario.condition(replica, opening, t(turn));
            for turn in 0..60 {
                let next = scenario.next_change(replica, opening, t(turn)).unwrap_or(t(60));
                let turns = (turn..60).take_while(|later| t(*later) < next);
                assert_eq!(
                    turns.filter(|later| condition(*later) != condition(turn)).count(),
                    0,
                    "{opening:?}, {turn}"
                );
            }
        }
        assert_eq!(scenario.next_change_of_stores(t(0)), Some(t(5)));
        assert_eq!(scenario.next_change_of_stores(t(5)), Some(t(8)));
    }

    #[test]
    fn a_replica_is_stopped_until_it_joins_and_then_starts() {
        let text = "{turn: 1s, turns: 60, requestsPerTurn: 1, replicas: {count: 2, startup: 6, joins: {1: 9}}}";
        let scenario = ScenarioFile::parse("s.yaml", text).unwrap();
        let joins = scenario.joins(1).unwrap();
        assert_eq!(scenario.condition(1, Opening::Warm, t(8)).state(), TrueState::Stopped);
        assert_eq!(scenario.condition(1, Opening::Planned(joins), t(9)).state(), TrueState::Starting);
        assert_eq!(scenario.condition(1, Opening::Planned(joins), t(15)), Condition::HEALTHY);
    }
}
