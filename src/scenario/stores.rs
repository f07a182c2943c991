//! The stores that all replicas share.

use std::ops::{BitOr, BitXor};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shared store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Store {
    /// Where writes go.
    State,
    /// What batch jobs need, and nothing else does.
    Billing,
}

/// Which shared stores are up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stores {
    down: u8,
}

impl Stores {
    /// Every store is up.
    pub const UP: Self = Self { down: 0 };

    /// Only this one is down.
    pub const fn without(store: Store) -> Self {
        Self { down: 1 << store as u8 }
    }

    /// Whether this store is up.
    pub const fn up(self, store: Store) -> bool {
        self.down & Self::without(store).down == 0
    }
}

impl Store {
    /// Every store.
    pub const ALL: [Self; 2] = [Self::State, Self::Billing];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Billing => "billing",
        }
    }
}

/// What is down in either is down.
impl BitOr for Stores {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { down: self.down | other.down }
    }
}

/// What is down in exactly one is down.
impl BitXor for Stores {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        Self { down: self.down ^ other.down }
    }
}
