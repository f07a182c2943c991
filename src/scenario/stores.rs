//! The stores that all replicas share.

use std::ops::{BitOr, BitXor};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Unanswerable;
use super::endpoint::asked_path;
use crate::api::Handler;

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
    /// The store that a handler asks whether it is up, by the path `/up/NAME`.
    pub fn asked_by(handler: &Handler) -> Result<Self, Unanswerable> {
        let refuse = |field, sentence| Unanswerable { field, sentence };
        let Some(path) = asked_path(handler)? else {
            return Err(refuse(
                "tcpSocket",
                "the scripted stores accept connections also while they are down".to_owned(),
            ));
        };
        let asked = |store: &Self| path.strip_prefix("/up/") == Some(store.name());
        Self::ALL.into_iter().find(asked).ok_or_else(|| {
            let paths = Self::ALL.map(|store| format!("/up/{}", store.name())).join(", ");
            refuse("httpGet.path", format!("the scripted stores have no endpoint {path}; they have {paths}"))
        })
    }

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::handler;

    #[test]
    fn a_dependency_may_ask_only_whether_a_store_is_up() {
        for (asks, store) in [
            (json!({"httpGet": {"port": 80, "path": "/up/state"}}), Ok(Store::State)),
            (json!({"httpGet": {"port": 80, "path": "/up/billing"}}), Ok(Store::Billing)),
            (json!({"httpGet": {"port": 80, "path": "/ready"}}), Err("httpGet.path")),
            (json!({"tcpSocket": {"port": 80}}), Err("tcpSocket")),
            (json!({"grpc": {"port": 80}}), Err("grpc")),
        ] {
            assert_eq!(Store::asked_by(&handler(asks.clone())).map_err(|refused| refused.field), store, "{asks}");
        }
    }
}
