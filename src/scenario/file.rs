//! A scenario as people write it, and what makes it a [`Scenario`].

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Lost, MAX_REPLICAS, Replica, Scenario};
use crate::api::Duration;
use crate::api::yaml::{self, YamlError};

/// A scenario file. Every point in time and every length but `turn` is a whole number of turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioFile {
    /// The length of a turn, such as `1s` or `500ms`.
    pub turn: Duration,
    /// How many turns there are.
    pub turns: u32,
    /// How many requests arrive in a turn.
    pub requests_per_turn: u32,
    /// The fleet.
    pub replicas: Replicas,
    /// Planned reopenings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopenings: Vec<Reopening>,
    /// Faults, in any order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// The fleet: a list of startup times, or a count with one startup time and its exceptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replicas {
    /// How many replicas there are; may be left out beside a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How many turns a replica takes to start.
    pub startup: Startup,
    /// Other startup times, by replica.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exceptions: BTreeMap<u32, u32>,
}

/// Startup times in turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Startup {
    /// The same for every replica that is no exception.
    Same(u32),
    /// One for each replica.
    Each(Vec<u32>),
}

/// A replica is reopened as planned: its process ends and starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reopening {
    /// Which replica.
    pub replica: u32,
    /// In which turn.
    pub at: u32,
}

/// A fault: one replica, one turn, one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// Which replica.
    pub replica: u32,
    /// In which turn it begins.
    pub at: u32,
    /// The process answers nothing until it is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// The replica lacks a dependency, which comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_lost: Option<DependencyLost>,
}

/// A stuck process has no settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stuck {}

/// How long a dependency is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DependencyLost {
    /// For how many turns, at least one; it may outlast the scenario.
    #[serde(rename = "for")]
    pub turns: u32,
}

/// A field that makes no sense, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Nonsense {
    /// The path of the field, such as `faults[2].replica`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ScenarioFile {
    /// Reads and checks the scenario in a file.
    pub fn read(path: &Path) -> Result<Scenario, YamlError> {
        Self::parse(&path.display().to_string(), &yaml::read_text(path)?)
    }

    /// Reads and checks the scenario in a text; errors speak of it as `file`.
    pub fn parse(file: &str, text: &str) -> Result<Scenario, YamlError> {
        let written: Self = yaml::from_str(file, text)?;
        written.check().map_err(|nonsense| yaml::refuse(file, text, &nonsense.field, &nonsense.problem))
    }

    /// Checks that the scenario makes sense.
    pub fn check(&self) -> Result<Scenario, Nonsense> {
        let turn = self.turn.span();
        if turn.is_zero() {
            return Err(Nonsense::new("turn", "a turn takes time"));
        }
        if self.turns == 0 {
            return Err(Nonsense::new("turns", "a scenario has at least one turn"));
        }
        let mut scenario = Scenario {
            turn,
            turns: self.turns,
            requests_per_turn: self.requests_per_turn,
            replicas: self.replicas.check()?,
        };
        for (index, reopening) in self.reopenings.iter().enumerate() {
            let item = format!("reopenings[{index}]");
            let replica = scenario.replica_at(reopening.replica, reopening.at, &item)?;
            insert(&mut replica.reopenings, reopening.at, |turn| *turn)
                .map_err(|Taken| Nonsense::new(item, "says the same as an earlier one"))?;
        }
        for (index, fault) in self.faults.iter().enumerate() {
            let item = format!("faults[{index}]");
            let replica = scenario.replica_at(fault.replica, fault.at, &item)?;
            match (fault.stuck, fault.dependency_lost) {
                (Some(Stuck {}), None) => insert(&mut replica.stuck, fault.at, |turn| *turn),
                (None, Some(DependencyLost { turns: 0 })) => {
                    return Err(Nonsense::new(format!("{item}.dependencyLost.for"), "a fault lasts at least one turn"));
                }
                (None, Some(DependencyLost { turns })) => {
                    insert(&mut replica.dependency_lost, Lost { at: fault.at, turns }, |lost| lost.at)
                }
                (None, None) | (Some(_), Some(_)) => {
                    return Err(Nonsense::new(item, "a fault is one of stuck, dependencyLost"));
                }
            }
            .map_err(|Taken| Nonsense::new(item, "contradicts an earlier fault of that kind, replica and turn"))?;
        }
        Ok(scenario)
    }
}

impl Replicas {
    fn check(&self) -> Result<Vec<Replica>, Nonsense> {
        let startups = match (&self.startup, self.count) {
            (Startup::Same(_), None) => {
                return Err(Nonsense::new("replicas.count", "is missing, and startup is no list to count"));
            }
            (Startup::Same(startup), Some(count)) => {
                vec![*startup; bounded(count as usize, "replicas.count")?]
            }
            (Startup::Each(list), Some(count)) if list.len() != count as usize => {
                let problem = format!("lists {} replicas, but count says {count}", list.len());
                return Err(Nonsense::new("replicas.startup", problem));
            }
            (Startup::Each(list), _) => {
                bounded(list.len(), "replicas.startup")?;
                list.clone()
            }
        };
        let mut replicas: Vec<_> =
            startups.into_iter().map(|startup| Replica { startup, ..Replica::default() }).collect();
        for (&replica, &startup) in &self.exceptions {
            let field = || format!("replicas.exceptions.{replica}");
            if let Startup::Each(_) = self.startup {
                return Err(Nonsense::new(field(), "write it into the list of startup"));
            }
            let last = replicas.len() - 1;
            let Some(replica) = replicas.get_mut(replica as usize) else {
                return Err(Nonsense::new(field(), no_replica(replica, last)));
            };
            replica.startup = startup;
        }
        Ok(replicas)
    }
}

fn bounded(count: usize, field: &str) -> Result<usize, Nonsense> {
    match count {
        1.. if count <= MAX_REPLICAS as usize => Ok(count),
        _ => Err(Nonsense::new(field, format!("a scenario has from 1 to {MAX_REPLICAS} replicas, not {count}"))),
    }
}

fn no_replica(replica: u32, last: usize) -> String {
    format!("there is no replica {replica}, only 0 to {last}")
}

impl Scenario {
    /// The replica that something happens to in a turn, if the scenario has both.
    fn replica_at(&mut self, replica: u32, turn: u32, item: &str) -> Result<&mut Replica, Nonsense> {
        let last = self.turns - 1;
        if turn > last {
            return Err(Nonsense::new(format!("{item}.at"), format!("there is no turn {turn}, only 0 to {last}")));
        }
        let last = self.replicas.len() - 1;
        self.replicas
            .get_mut(replica as usize)
            .ok_or_else(|| Nonsense::new(format!("{item}.replica"), no_replica(replica, last)))
    }
}

/// That two things are said of the same turn.
struct Taken;

fn insert<T>(list: &mut Vec<T>, item: T, turn: impl Fn(&T) -> u32) -> Result<(), Taken> {
    match list.binary_search_by_key(&turn(&item), &turn) {
        Ok(_) => Err(Taken),
        Err(place) => {
            list.insert(place, item);
            Ok(())
        }
    }
}

impl Nonsense {
    fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl<'de> Deserialize<'de> for Startup {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = Startup;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number of turns, or a list of them")
            }

            fn visit_u64<E: serde::de::Error>(self, turns: u64) -> Result<Startup, E> {
                let turns = u32::try_from(turns).map_err(|_| E::custom("too many turns"))?;
                Ok(Startup::Same(turns))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Startup, A::Error> {
                let mut turns = Vec::new();
                while let Some(next) = list.next_element()? {
                    turns.push(next);
                }
                Ok(Startup::Each(turns))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Span, Time};

    const GOOD: &str = "
turn: 500ms
turns: 10
requestsPerTurn: 50
replicas: {count: 3, startup: 2, exceptions: {2: 5}}
reopenings: [{replica: 1, at: 4}]
faults: [{replica: 0, at: 3, dependencyLost: {for: 2}}]
";

    /// The sentence of the refusal, without the line that it marks.
    fn refusal_of(old: &str, new: &str) -> String {
        assert!(GOOD.contains(old), "{old} is not in the good scenario");
        ScenarioFile::parse("s.yaml", &GOOD.replace(old, new))
            .unwrap_err()
            .to_string()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    }

    #[test]
    fn a_scenario_is_read_as_written() {
        let scenario = ScenarioFile::parse("s.yaml", GOOD).unwrap();
        assert_eq!(scenario.turn(), Span::from_millis(500));
        assert_eq!(scenario.length(), Span::from_secs(5));
        assert_eq!(scenario.requests_per_turn(), 50);
        let startups: Vec<_> = (0..scenario.replicas()).map(|replica| scenario.startup(replica)).collect();
        assert_eq!(startups, [Span::from_secs(1), Span::from_secs(1), Span::from_millis(2_500)]);
        assert_eq!(scenario.reopenings(1).collect::<Vec<_>>(), [Time::ZERO + Span::from_secs(2)]);
    }

    #[test]
    fn a_list_of_startup_times_counts_the_replicas() {
        let listed = GOOD.replace("{count: 3, startup: 2, exceptions: {2: 5}}", "{startup: [2, 2, 5]}");
        assert_eq!(ScenarioFile::parse("s.yaml", &listed).unwrap(), ScenarioFile::parse("s.yaml", GOOD).unwrap());
    }

    #[test]
    fn speed_divides_every_duration() {
        let scenario = ScenarioFile::parse("s.yaml", GOOD).unwrap().at_speed("5".parse().unwrap());
        assert_eq!(scenario.length(), Span::from_secs(1));
        assert_eq!(scenario.startup(0), Span::from_millis(200));
    }

    #[test]
    fn a_replica_that_does_not_exist_is_refused() {
        assert_eq!(
            refusal_of("{replica: 0, at: 3", "{replica: 3, at: 3"),
            "s.yaml:7:20: faults[0].replica: there is no replica 3, only 0 to 2"
        );
        assert_eq!(
            refusal_of("replica: 1", "replica: 9"),
            "s.yaml:6:24: reopenings[0].replica: there is no replica 9, only 0 to 2"
        );
        assert_eq!(
            refusal_of("{2: 5}", "{3: 5}"),
            "s.yaml:5:50: replicas.exceptions.3: there is no replica 3, only 0 to 2"
        );
    }

    #[test]
    fn a_fault_past_the_end_is_refused() {
        assert_eq!(refusal_of("at: 3", "at: 10"), "s.yaml:7:27: faults[0].at: there is no turn 10, only 0 to 9");
    }

    #[test]
    fn a_fault_is_of_exactly_one_kind() {
        let problem = "s.yaml:7:10: faults[0]: a fault is one of stuck, dependencyLost";
        assert_eq!(refusal_of(", dependencyLost: {for: 2}", ""), problem);
        assert_eq!(refusal_of("dependencyLost", "stuck: {}, dependencyLost"), problem);
    }

    #[test]
    fn two_faults_of_one_kind_replica_and_turn_contradict_each_other() {
        assert_eq!(
            refusal_of("faults: [", "faults: [{replica: 0, at: 3, dependencyLost: {for: 1}}, "),
            "s.yaml:7:57: faults[1]: contradicts an earlier fault of that kind, replica and turn"
        );
    }

    #[test]
    fn nothing_is_not_enough() {
        assert!(refusal_of("turns: 10", "turns: 0").contains(": turns: "));
        assert!(refusal_of("count: 3", "count: 0").contains(": replicas.count: "));
        assert!(refusal_of("count: 3", "count: 100001").contains(": replicas.count: "));
        assert!(refusal_of("count: 3, ", "").contains(": replicas.count: "));
        assert!(refusal_of("for: 2", "for: 0").contains(": faults[0].dependencyLost.for: "));
        assert!(refusal_of("500ms", "0s").contains(": turn: "));
    }

    #[test]
    fn what_is_not_a_whole_number_of_turns_is_refused_with_its_place() {
        for (old, new, field) in [
            ("at: 3", "at: 3.5", "faults[0].at"),
            ("at: 3", "at: -1", "faults[0].at"),
            ("startup: 2", "startup: 2.5", "replicas.startup"),
            ("startup: 2", "startup: -2", "replicas.startup"),
            ("for: 2", "for: 2s", "faults[0].dependencyLost.for"),
        ] {
            let refusal = refusal_of(old, new);
            assert!(refusal.contains(&format!("{field}: ")) && refusal.contains("s.yaml:"), "{refusal}");
        }
    }

    #[test]
    fn an_unknown_or_repeated_field_is_refused_with_its_line() {
        let refusal = refusal_of("dependencyLost", "dependencyGone");
        assert!(refusal.contains("dependencyGone") && refusal.contains("s.yaml:7:"), "{refusal}");
        let refusal = refusal_of("turns: 10", "turns: 10\nturns: 11");
        assert!(refusal.contains("turns") && refusal.contains("s.yaml:4:"), "{refusal}");
    }
}
