//! The fleet: who is there, since when, and how long each takes to start.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::check::{Nonsense, Turns};
use super::{is_one, one};
use crate::scenario::MAX_REPLICAS;
use crate::scenario::replica::Replica;

/// The fleet: a list of startup times, or a count with one startup time and its exceptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Replicas {
    /// How many replicas there are, from 1 to 100000; may be left out beside a list of startup times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub count: Option<u32>,
    /// How many turns a replica takes to start: a number for all, or a list with one for each.
    pub startup: Startup,
    /// Other startup times, by replica.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exceptions: BTreeMap<u32, u32>,
    /// Replicas that are not there from the beginning, each with the turn in which it is opened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub joins: BTreeMap<u32, u32>,
    /// On how many nodes they run: replica n on node n modulo that. By default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub nodes: NonZeroU32,
    /// Replicas that are made from another template than revision 0, each with the number of its revision.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub revisions: BTreeMap<u32, u32>,
}

/// Startup times in turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Startup {
    /// The same for every replica that is no exception.
    Same(u32),
    /// One for each replica.
    Each(Vec<u32>),
}

/// A replica is reopened as planned: its process ends and starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Reopening {
    /// Which replica is reopened.
    pub replica: u32,
    /// The turn, at whose beginning that happens.
    pub at: u32,
}

impl Replicas {
    /// The fleet that nothing happens to, if it makes sense.
    pub(super) fn check(&self, turns: Turns) -> Result<Vec<Replica>, Nonsense> {
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
        let made = |(startup, number): (u32, u32)| Replica { startup, node: number % self.nodes, ..Replica::default() };
        let mut replicas: Vec<_> = startups.into_iter().zip(0..).map(made).collect();
        for (&replica, &startup) in &self.exceptions {
            let field = format!("replicas.exceptions.{replica}");
            if let Startup::Each(_) = self.startup {
                return Err(Nonsense::new(field, "write it into the list of startup"));
            }
            find(&mut replicas, replica, &field)?.startup = startup;
        }
        for (&replica, &turn) in &self.joins {
            let field = format!("replicas.joins.{replica}");
            find(&mut replicas, replica, &field)?.joins = Some(turns.index(turn, &field)?);
        }
        for (&replica, &revision) in &self.revisions {
            find(&mut replicas, replica, &format!("replicas.revisions.{replica}"))?.revision = revision;
        }
        Ok(replicas)
    }
}

/// The replica of that number, which the field speaks of.
pub(super) fn find<'a>(replicas: &'a mut [Replica], replica: u32, field: &str) -> Result<&'a mut Replica, Nonsense> {
    let last = replicas.len() - 1;
    let missing = || Nonsense::new(field, format!("there is no replica {replica}, only 0 to {last}"));
    replicas.get_mut(replica as usize).ok_or_else(missing)
}

fn bounded(count: usize, field: &str) -> Result<usize, Nonsense> {
    match count {
        1.. if count <= MAX_REPLICAS as usize => Ok(count),
        _ => Err(Nonsense::new(field, format!("a scenario has from 1 to {MAX_REPLICAS} replicas, not {count}"))),
    }
}

impl<'de> Deserialize<'de> for Startup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = Startup;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of turns, or a list of them")
    }

    fn visit_u64<E: Error>(self, turns: u64) -> Result<Startup, E> {
        u32::try_from(turns).map(Startup::Same).map_err(|_| E::custom("too many turns"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Startup, A::Error> {
        let mut turns = Vec::new();
        while let Some(next) = list.next_element()? {
            turns.push(next);
        }
        Ok(Startup::Each(turns))
    }
}
