//! The requests of a turn.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::scenario::PerKind;

/// The requests of each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum RequestsPerTurn {
    /// So many plain ones.
    Plain(u32),
    /// So many of each kind, sent in this order.
    Kinds(Kinds),
}

/// How many requests there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(inline)]
pub struct Kinds {
    /// Plain requests to `/request`. A replica serves them where it would say yes to `/ready`.
    #[serde(default)]
    pub plain: u32,
    /// Reads. A replica serves them where it is up, not warming and has its dependency.
    #[serde(default)]
    pub read: u32,
    /// Writes. They also need the state store; a half-down replica accepts them and loses them silently.
    #[serde(default)]
    pub write: u32,
    /// Batch jobs. They need the billing store and somebody in the pool, whatever that replica's condition.
    #[serde(default)]
    pub batch: u32,
}

impl RequestsPerTurn {
    /// The number of each kind.
    pub(super) const fn per_kind(self) -> PerKind<u32> {
        match self {
            Self::Plain(plain) => PerKind { plain, read: 0, write: 0, batch: 0 },
            Self::Kinds(Kinds { plain, read, write, batch }) => PerKind { plain, read, write, batch },
        }
    }
}

impl<'de> Deserialize<'de> for RequestsPerTurn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = RequestsPerTurn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of requests, or a number for each of plain, read, write, batch")
    }

    fn visit_u64<E: Error>(self, requests: u64) -> Result<RequestsPerTurn, E> {
        u32::try_from(requests).map(RequestsPerTurn::Plain).map_err(|_| E::custom("too many requests"))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RequestsPerTurn, A::Error> {
        Kinds::deserialize(MapAccessDeserializer::new(map)).map(RequestsPerTurn::Kinds)
    }
}
