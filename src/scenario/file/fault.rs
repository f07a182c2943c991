//! Faults as they are written.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::check::{Nonsense, Turns};
use crate::scenario::random::Chance;
use crate::scenario::replica::{Hit, Leave};
use crate::scenario::timeline::Spell;
use crate::scenario::{Store, Stores, TrueState};

/// The kinds of fault that hit a replica.
const OF_A_REPLICA: [&str; 6] = ["stuck", "dependencyLost", "halfDown", "warming", "stopped", "silent"];

/// What a fault may hit.
const HIT: [&str; 3] = ["replica", "store", "node"];

/// A fault: one replica, one shared store or the path to one node, the turn in which it begins, one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline, extend("oneOf" = one_of(OF_A_REPLICA.into_iter().chain(["down", "cut"])), "allOf" = [{"oneOf": one_of(HIT)}],
"dependentRequired" = {"down": ["store"], "store": ["down"], "cut": ["node"], "node": ["cut"]}))]
pub struct Fault {
    /// Which replica is hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica: Option<u32>,
    /// Which shared store is hit, instead of a replica: `state` or `billing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
    /// Which node's path is hit, instead of a replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The turn, at whose beginning the fault begins.
    pub at: u32,
    /// The process answers nothing until it is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// The replica lacks a dependency, which comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_lost: Option<Lasting>,
    /// The replica accepts writes that never reach the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_down: Option<Lasting>,
    /// The replica is up, but cannot read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warming: Option<Lasting>,
    /// The process is gone; without `for` and `through`, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// The process answers nothing and comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Lasting>,
    /// The shared store is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Lasting>,
    /// The path to the node is cut for whoever asks there; requests pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Lasting>,
}

/// A fault that hits every replica at random, independent of the others: one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline, extend("oneOf" = one_of(OF_A_REPLICA)))]
pub struct RandomFault {
    /// How many turns lie between two such faults of one replica, on average; at least one.
    pub every: NonZeroU32,
    /// The process answers nothing until it is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// The replica lacks a dependency, which comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_lost: Option<For>,
    /// The replica accepts writes that never reach the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_down: Option<For>,
    /// The replica is up, but cannot read yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warming: Option<For>,
    /// The process is gone; without `for`, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedFor>,
    /// The process answers nothing and comes back by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<For>,
}

/// A stuck process has no settings: `{}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Stuck {}

/// How long a fault lasts: exactly one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline, extend("oneOf" = [{"required": ["for"]}, {"required": ["through"]}]))]
pub struct Lasting {
    /// For how many turns, at least one; it may outlast the scenario.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub turns: Option<u32>,
    /// The last turn of the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<u32>,
}

/// How long a process is gone, and how it went: at most one of `for` and `through`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline, extend("not" = {"required": ["for", "through"]}))]
pub struct Stopped {
    /// For how many turns, at least one; it may outlast the scenario.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub turns: Option<u32>,
    /// The last turn of the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<u32>,
    /// Whether the process takes its entry out of the registry before it goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graceful: bool,
}

/// How long a fault lasts that may begin in any turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct For {
    /// For how many turns, at least one; it may outlast the scenario.
    #[serde(rename = "for")]
    pub turns: NonZeroU32,
}

/// How long a process is gone that may go in any turn, and how it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct StoppedFor {
    /// For how many turns, at least one; it may outlast the scenario.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub turns: Option<NonZeroU32>,
    /// Whether the process takes its entry out of the registry before it goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graceful: bool,
}

impl Fault {
    /// What is hit and when, if that makes sense; `item` is the path of the fault.
    pub(super) fn check(&self, turns: Turns, item: &str) -> Result<Checked, Nonsense> {
        let from = turns.index(self.at, &format!("{item}.at"))?;
        match (self.replica, self.store, self.node) {
            (Some(replica), None, None) => {
                let kind = self.kind().filter(|_| self.down.is_none() && self.cut.is_none());
                let kind =
                    kind.ok_or_else(|| Nonsense::new(item, format!("a fault of a replica is one of {KINDS}")))?;
                let until = kind.lasting.map(|lasting| lasting.until(from, turns, &format!("{item}.{}", kind.field)));
                let hit = Hit { state: kind.state, from, until: until.transpose()?, leave: kind.leave };
                Ok(Checked::Replica { replica, hit })
            }
            (None, Some(store), None) => {
                let down = self.down.filter(|_| self.kinds().next().is_none() && self.cut.is_none());
                let down = down.ok_or_else(|| Nonsense::new(item, "the fault of a store is down, and nothing else"))?;
                let until = Some(down.until(from, turns, &format!("{item}.down"))?);
                Ok(Checked::Store { store, spell: Spell { what: Stores::without(store), from, until } })
            }
            (None, None, Some(node)) => {
                let cut = self.cut.filter(|_| self.kinds().next().is_none() && self.down.is_none());
                let cut = cut.ok_or_else(|| Nonsense::new(item, "the fault of a node is cut, and nothing else"))?;
                let until = Some(cut.until(from, turns, &format!("{item}.cut"))?);
                Ok(Checked::Path { node, spell: Spell { what: true, from, until } })
            }
            (None, None, None) | (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                Err(Nonsense::new(item, "a fault hits one replica, one store or one node"))
            }
        }
    }

    fn kind(&self) -> Option<Kind> {
        let mut kinds = self.kinds();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let lasting = |field, state, lasting: Option<Lasting>| {
            lasting.map(|lasting| Kind { field, state, lasting: Some(lasting), leave: Leave::Abrupt })
        };
        let stuck = self.stuck.map(|Stuck {}| Kind {
            field: "stuck",
            state: TrueState::Stuck,
            lasting: None,
            leave: Leave::Abrupt,
        });
        let kinds = [
            stuck,
            lasting("dependencyLost", TrueState::DependencyLost, self.dependency_lost),
            lasting("halfDown", TrueState::HalfDown, self.half_down),
            lasting("warming", TrueState::Warming, self.warming),
            self.stopped.map(Kind::from),
            lasting("silent", TrueState::Silent, self.silent),
        ];
        kinds.into_iter().flatten()
    }
}

impl RandomFault {
    /// How often what happens, if that makes sense; `item` is the path of the fault.
    pub(super) fn check(&self, item: &str) -> Result<Chance, Nonsense> {
        let Self { every, stuck, dependency_lost, half_down, warming, stopped, silent } = *self;
        let fault = Fault {
            replica: None,
            store: None,
            node: None,
            at: 0,
            stuck,
            dependency_lost: dependency_lost.map(Lasting::from),
            half_down: half_down.map(Lasting::from),
            warming: warming.map(Lasting::from),
            stopped: stopped.map(Stopped::from),
            silent: silent.map(Lasting::from),
            down: None,
            cut: None,
        };
        let kind = fault.kind().ok_or_else(|| Nonsense::new(item, format!("a random fault is one of {KINDS}")))?;
        let turns = kind.lasting.and_then(|lasting| lasting.turns);
        Ok(Chance { every, state: kind.state, turns, leave: kind.leave })
    }
}

/// A fault that makes sense.
pub(super) enum Checked {
    /// Of a replica, which may not exist.
    Replica { replica: u32, hit: Hit },
    /// Of a store.
    Store { store: Store, spell: Spell<Stores> },
    /// Of the path to a node, which may not exist.
    Path { node: u32, spell: Spell<bool> },
}

/// A kind of fault that a replica can have, as it was written.
struct Kind {
    field: &'static str,
    state: TrueState,
    /// None where no end is possible or none was written.
    lasting: Option<Lasting>,
    leave: Leave,
}

const KINDS: &str = "stuck, dependencyLost, halfDown, warming, stopped, silent";
const EITHER: &str = "say when it ends: either for (how many turns) or through (the last turn)";
const AT_LEAST_ONE: &str = "a fault lasts at least one turn";

impl Lasting {
    /// The first turn after the fault, counted from the first.
    fn until(self, from: u32, turns: Turns, field: &str) -> Result<u32, Nonsense> {
        match (self.turns, self.through) {
            (Some(0), None) => Err(Nonsense::new(format!("{field}.for"), AT_LEAST_ONE)),
            (Some(count), None) => Ok(from.saturating_add(count)),
            (None, Some(through)) => {
                let field = format!("{field}.through");
                let last = turns.index(through, &field)?;
                if last < from {
                    let problem =
                        format!("the fault ends in turn {through}, before it begins in turn {}", turns.number(from));
                    return Err(Nonsense::new(field, problem));
                }
                Ok(last + 1)
            }
            (None, None) | (Some(_), Some(_)) => Err(Nonsense::new(field, EITHER)),
        }
    }
}

impl From<For> for Lasting {
    fn from(For { turns }: For) -> Self {
        Self { turns: Some(turns.get()), through: None }
    }
}

impl From<StoppedFor> for Stopped {
    fn from(StoppedFor { turns, graceful }: StoppedFor) -> Self {
        Self { turns: turns.map(NonZeroU32::get), through: None, graceful }
    }
}

impl From<Stopped> for Kind {
    fn from(Stopped { turns, through, graceful }: Stopped) -> Self {
        let lasting = (turns.is_some() || through.is_some()).then_some(Lasting { turns, through });
        let leave = if graceful { Leave::Graceful } else { Leave::Abrupt };
        Self { field: "stopped", state: TrueState::Stopped, lasting, leave }
    }
}

/// Exactly one of these is there.
fn one_of(kinds: impl IntoIterator<Item = &'static str>) -> Value {
    kinds.into_iter().map(|kind| json!({"required": [kind]})).collect()
}
