//! How requests find the replicas, and how decisions reach the requests.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Who gets the first request of a turn. Within a turn requests go round the members of the pool in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Rotation {
    /// The first member of the pool.
    #[default]
    EachTurn,
    /// The member after the last request's: one counter that never resets.
    Continuous,
}

/// A registry: a replica enters itself with its first beat and is in it while its last beat is young enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Registry {
    /// How many turns lie between two beats of a replica. Every beat falls on a multiple of it from the first turn on.
    pub beat: NonZeroU32,
    /// For how many turns an entry lives after its last beat.
    pub time_to_live: NonZeroU32,
}

/// How those who send requests find the replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve {
    /// By a list that never changes: the replicas that are there from the beginning.
    #[default]
    Static,
    /// By asking the registry.
    Registry {
        /// How old an answer may become, in turns, before they ask again; without one they ask for every request.
        cache: Option<NonZeroU32>,
    },
}

/// A profile of how long a decision takes to reach the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Propagation {
    /// Results are read every 2.5 s.
    L7,
    /// Results are read every 5 s; a worse one is read again 4 s later before it counts.
    L4,
    /// Never.
    None,
}

/// The text is no way to find replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be static, registry, or registry,cache=N with N turns, at least one")]
pub struct InvalidResolve;

impl FromStr for Resolve {
    type Err = InvalidResolve;

    fn from_str(text: &str) -> Result<Self, InvalidResolve> {
        match text {
            "static" => Ok(Self::Static),
            "registry" => Ok(Self::Registry { cache: None }),
            _ => {
                let turns = text.strip_prefix("registry,cache=").ok_or(InvalidResolve)?;
                Ok(Self::Registry { cache: Some(turns.parse().map_err(|_| InvalidResolve)?) })
            }
        }
    }
}

impl fmt::Display for Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static => f.write_str("static"),
            Self::Registry { cache: None } => f.write_str("registry"),
            Self::Registry { cache: Some(turns) } => write!(f, "registry,cache={turns}"),
        }
    }
}

impl Serialize for Resolve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Resolve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Resolve {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Resolve".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^(static|registry(,cache=0*[1-9][0-9]*)?)$"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_replicas_are_found_is_read_as_it_is_written() {
        let eighty = Resolve::Registry { cache: NonZeroU32::new(80) };
        for (text, resolve) in [
            ("static", Resolve::Static),
            ("registry", Resolve::Registry { cache: None }),
            ("registry,cache=80", eighty),
        ] {
            assert_eq!(text.parse(), Ok(resolve));
            assert_eq!(resolve.to_string(), text);
        }
        for text in ["", "Static", "registry,cache=0", "registry,cache=", "registry, cache=80", "registry,cache=-1"] {
            assert_eq!(text.parse::<Resolve>(), Err(InvalidResolve), "{text}");
        }
    }
}
