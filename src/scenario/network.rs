//! How requests find the replicas, and how decisions reach the requests.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
