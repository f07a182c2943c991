//! The name of a seat in the status, which a later controller reads back.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How a seat is told from the other seats of its owner; `ordinal/3`, `node/worker-1` or `nth/0` in text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeatName {
    /// The ordinal of a StatefulSet's pod.
    Ordinal(u32),
    /// The node of a DaemonSet's pod.
    Node(String),
    /// The place that the engine gave a replica without a number.
    Nth(u32),
}

/// The text names no seat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no seat: it must be ordinal/N, node/NAME or nth/N")]
pub struct InvalidSeat(String);

impl fmt::Display for SeatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "ordinal/{ordinal}"),
            Self::Node(node) => write!(f, "node/{node}"),
            Self::Nth(n) => write!(f, "nth/{n}"),
        }
    }
}

impl FromStr for SeatName {
    type Err = InvalidSeat;

    fn from_str(text: &str) -> Result<Self, InvalidSeat> {
        let named = match text.split_once('/') {
            Some(("ordinal", ordinal)) => ordinal.parse().ok().map(Self::Ordinal),
            Some(("node", node)) if !node.is_empty() => Some(Self::Node(node.to_owned())),
            Some(("nth", n)) => n.parse().ok().map(Self::Nth),
            Some(_) | None => None,
        };
        named.ok_or_else(|| InvalidSeat(text.to_owned()))
    }
}

impl Serialize for SeatName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SeatName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for SeatName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SeatName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_read_back_by_its_name() {
        for seat in [SeatName::Ordinal(3), SeatName::Node("worker-1".to_owned()), SeatName::Nth(0)] {
            assert_eq!(seat.to_string().parse(), Ok(seat));
        }
    }

    #[test]
    fn other_text_names_no_seat() {
        for text in ["", "3", "ordinal/", "ordinal/x", "node/", "pod/a"] {
            assert!(text.parse::<SeatName>().is_err(), "{text}");
        }
    }
}
