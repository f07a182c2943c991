//! A scenario as people write it. [`check`] makes a [`Scenario`](super::Scenario) of it, or says what makes no sense.

mod check;
mod fault;
mod fleet;
mod requests;
mod schema;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Scenario;
use super::network::{Propagation, Registry, Rotation};
use crate::api::Duration;
use crate::api::yaml::{self, YamlError};
use crate::registry::Resolve;

pub use check::Nonsense;
pub use fault::{Fault, Lasting, RandomFault, Stopped, Stuck};
pub use fleet::{Reopening, Replicas, Startup};
pub use requests::{Kinds, RequestsPerTurn};
pub use schema::json_schema;

/// A scenario file. Every point in time and every length but `turn` is a whole number of turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Scenario")]
pub struct ScenarioFile {
    /// The length of a turn, such as `1s` or `500ms`.
    #[schemars(with = "String", regex(pattern = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"))]
    pub turn: Duration,
    /// How many turns there are, from 1 to 100000000.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub turns: u32,
    /// The number that the first turn bears, here and in all that is printed. By default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_turn: u32,
    /// The requests of each turn: a number of plain ones, or a number of each kind.
    pub requests_per_turn: RequestsPerTurn,
    /// The first turn with requests. By default the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_from: Option<u32>,
    /// Who gets the first request of a turn. By default EachTurn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rotation: Rotation,
    /// The fleet. Replicas are numbered from 0.
    pub replicas: Replicas,
    /// Planned reopenings, in any order. Each ends a replica's process and starts it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopenings: Vec<Reopening>,
    /// Faults, in any order. They may overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// The registry in which replicas enter themselves. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<Registry>,
    /// How those who send requests find the replicas: `static`, `registry`, or `registry,cache=N` with N turns. By default
    /// `static`.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "String", regex(pattern = "^(static|registry(,cache=0*[1-9][0-9]*)?)$"))]
    pub resolve: Resolve<NonZeroU32>,
    /// How many services find the replicas so, each with a configuration of its own. By default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub consumers: NonZeroU32,
    /// How a decision reaches the traffic. By default it does so at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Propagation>,
    /// Up to so many further turns of startup at each opening; how many, the seed says. By default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub startup_jitter: u32,
    /// Faults that hit every replica at random; when, the seed says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub random_faults: Vec<RandomFault>,
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
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn is_one(value: &NonZeroU32) -> bool {
    *value == one()
}
