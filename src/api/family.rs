//! Which of a pod's addresses are asked.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of a pod's addresses a rule asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum IpFamily {
    /// The pod's first address, of whatever family.
    #[default]
    First,
    /// Its IPv4 address.
    IPv4,
    /// Its IPv6 address.
    IPv6,
    /// Both at once; one that passes is enough.
    Either,
    /// Both, one after the other, within one timeout; each has to pass.
    Both,
}

/// As it is written.
impl fmt::Display for IpFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
