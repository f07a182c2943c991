//! Which of a pod's addresses are asked.

use std::fmt;
use std::net::SocketAddr;

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

/// The addresses at which one attempt asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockets {
    /// One.
    One(SocketAddr),
    /// Two at once. The first that passes is enough; if neither does, it is the first one's failure.
    Either(SocketAddr, SocketAddr),
    /// Two, one after the other, which both have to pass.
    Both(SocketAddr, SocketAddr),
}

impl From<SocketAddr> for Sockets {
    fn from(only: SocketAddr) -> Self {
        Self::One(only)
    }
}

impl fmt::Display for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(only) => only.fmt(f),
            Self::Either(first, second) => write!(f, "{first} or {second}"),
            Self::Both(first, second) => write!(f, "{first} and {second}"),
        }
    }
}

/// As it is written.
impl fmt::Display for IpFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
