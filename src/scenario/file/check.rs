//! What makes a scenario out of what was written.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::Checked;
use super::fleet::find;
use super::{RandomFault, ScenarioFile};
use crate::registry::Resolve;
use crate::scenario::random::Chance;
use crate::scenario::replica::Replica;
use crate::scenario::timeline::Timeline;
use crate::scenario::{MAX_TURNS, Paths, PerKind, RequestKind, Scenario, Stores};

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
    /// Checks that the scenario makes sense. What is random in it comes out as with the seed 0.
    pub fn check(&self) -> Result<Scenario, Nonsense> {
        let turns = self.turns()?;
        let mut replicas = self.replicas.check(turns)?;
        self.reopen(&mut replicas, turns)?;
        let (stores, paths) = self.hit(&mut replicas, turns)?;
        if self.resolve != Resolve::Static && self.registry.is_none() {
            return Err(Nonsense::new("resolve", "asks a registry, but the scenario has none: add registry"));
        }
        let scenario = Scenario {
            turn: self.turn.span(),
            turns: self.turns,
            first_turn: self.first_turn,
            requests: self.requests()?,
            requests_from: self.requests_from.map_or(Ok(0), |turn| turns.index(turn, "requestsFrom"))?,
            rotation: self.rotation,
            replicas,
            stores,
            paths,
            registry: self.registry,
            resolve: self.resolve,
            consumers: self.consumers,
            propagation: self.propagation,
            startup_jitter: self.startup_jitter,
            chances: self.chances()?,
            seed: 0,
        };
        Ok(scenario.seeded(0))
    }

    fn turns(&self) -> Result<Turns, Nonsense> {
        let turn = self.turn.span();
        if turn.is_zero() {
            return Err(Nonsense::new("turn", "a turn takes time"));
        }
        if !(1..=MAX_TURNS).contains(&self.turns) {
            let problem = format!("a scenario has from 1 to {MAX_TURNS} turns, not {}", self.turns);
            return Err(Nonsense::new("turns", problem));
        }
        if turn.as_nanos().checked_mul(u64::from(self.turns)).is_none() {
            return Err(Nonsense::new("turns", "all of them together last longer than 500 years"));
        }
        if self.first_turn.checked_add(self.turns).is_none() {
            return Err(Nonsense::new("firstTurn", format!("the last turn would bear a number above {}", u32::MAX)));
        }
        Ok(Turns { first: self.first_turn, count: self.turns })
    }

    fn requests(&self) -> Result<PerKind<u32>, Nonsense> {
        let requests = self.requests_per_turn.per_kind();
        match RequestKind::ALL.into_iter().try_fold(0u32, |sum, kind| sum.checked_add(requests[kind])) {
            Some(_) => Ok(requests),
            None => Err(Nonsense::new("requestsPerTurn", format!("more than {} in a turn", u32::MAX))),
        }
    }

    fn reopen(&self, replicas: &mut [Replica], turns: Turns) -> Result<(), Nonsense> {
        let mut said = BTreeSet::new();
        for (index, reopening) in self.reopenings.iter().enumerate() {
            let item = format!("reopenings[{index}]");
            let at = turns.index(reopening.at, &format!("{item}.at"))?;
            let replica = find(replicas, reopening.replica, &format!("{item}.replica"))?;
            there(replica, at, turns, &item)?;
            if !said.insert((reopening.replica, at)) {
                return Err(Nonsense::new(item, "says the same as an earlier one"));
            }
            replica.reopenings.push(at);
        }
        for replica in replicas {
            replica.reopenings.sort_unstable();
        }
        Ok(())
    }

    fn hit(&self, replicas: &mut [Replica], turns: Turns) -> Result<(Timeline<Stores>, Paths), Nonsense> {
        let (mut of_replicas, mut of_stores, mut outages) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let (mut of_nodes, mut cuts) = (BTreeSet::new(), BTreeMap::<u32, Vec<_>>::new());
        for (index, fault) in self.faults.iter().enumerate() {
            let item = format!("faults[{index}]");
            let is_new = match fault.check(turns, &item)? {
                Checked::Replica { replica, hit } => {
                    let found = find(replicas, replica, &format!("{item}.replica"))?;
                    there(found, hit.from, turns, &item)?;
                    found.written.push(hit);
                    of_replicas.insert((replica, hit.state, hit.from))
                }
                Checked::Store { store, spell } => {
                    outages.push(spell);
                    of_stores.insert((store, spell.from))
                }
                Checked::Path { node, spell } => {
                    if node >= self.replicas.nodes.get() {
                        let problem = format!("there is no node {node}, only 0 to {}", self.replicas.nodes.get() - 1);
                        return Err(Nonsense::new(format!("{item}.node"), problem));
                    }
                    cuts.entry(node).or_default().push(spell);
                    of_nodes.insert((node, spell.from))
                }
            };
            if !is_new {
                let problem = "contradicts an earlier fault of that kind that begins there in the same turn";
                return Err(Nonsense::new(item, problem));
            }
        }
        Ok((Timeline::of(outages), cuts.into_iter().map(|(node, cuts)| (node, Timeline::of(cuts))).collect()))
    }

    fn chances(&self) -> Result<Vec<Chance>, Nonsense> {
        let check = |(index, fault): (usize, &RandomFault)| fault.check(&format!("randomFaults[{index}]"));
        self.random_faults.iter().enumerate().map(check).collect()
    }
}

/// Nothing happens to a replica before it joins.
fn there(replica: &Replica, at: u32, turns: Turns, item: &str) -> Result<(), Nonsense> {
    match replica.joins {
        Some(joins) if at < joins => {
            let problem = format!("the replica joins only in turn {}", turns.number(joins));
            Err(Nonsense::new(format!("{item}.at"), problem))
        }
        Some(_) | None => Ok(()),
    }
}

/// The turns that there are.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    first: u32,
    count: u32,
}

impl Turns {
    /// The place of a turn among all, from 0.
    pub(super) fn index(self, turn: u32, field: &str) -> Result<u32, Nonsense> {
        match turn.checked_sub(self.first) {
            Some(index) if index < self.count => Ok(index),
            Some(_) | None => {
                let (first, last) = (self.first, self.number(self.count - 1));
                Err(Nonsense::new(field, format!("there is no turn {turn}, only {first} to {last}")))
            }
        }
    }

    /// The number that the turn at that place bears.
    pub(super) fn number(self, index: u32) -> u32 {
        self.first + index
    }
}

impl Nonsense {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}
