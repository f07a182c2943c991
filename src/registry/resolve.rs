//! How those who send requests learn where to: from a list that never changes, or from the registry.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::engine::{Span, Time};

/// Where a consumer's list comes from. As text: `static`, `registry` or `registry,cache=AGE`, with the age in the unit
/// of the place where it stands: turns in a scenario, a duration on a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve<Age> {
    /// A list that was written down and never changes.
    #[default]
    Static,
    /// The registry, asked at every request.
    Registry,
    /// The registry, asked again once the list is so old or older.
    Cached(Age),
}

/// The text names no way to resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be static, registry, or registry,cache=AGE")]
pub struct NotAResolve;

/// A consumer's list of addresses and its age. Whoever holds it asks the registry when that [is due](Self::is_due).
#[derive(Clone, Debug)]
pub struct Resolver<Name> {
    resolve: Resolve<Span>,
    list: Vec<Name>,
    resolved: Option<Time>,
}

impl<Age> Resolve<Age> {
    /// The same with the age in another unit.
    pub fn map<Other>(self, unit: impl FnOnce(Age) -> Other) -> Resolve<Other> {
        match self {
            Self::Static => Resolve::Static,
            Self::Registry => Resolve::Registry,
            Self::Cached(age) => Resolve::Cached(unit(age)),
        }
    }
}

impl<Name> Resolver<Name> {
    /// A consumer that was told of `list`, which stays its list until the registry has answered.
    pub const fn new(resolve: Resolve<Span>, list: Vec<Name>) -> Self {
        Self { resolve, list, resolved: None }
    }

    /// Whether the registry has to be asked before a request at `now`.
    pub fn is_due(&self, now: Time) -> bool {
        match (self.resolve, self.resolved) {
            (Resolve::Static, _) => false,
            (Resolve::Registry, _) | (Resolve::Cached(_), None) => true,
            (Resolve::Cached(age), Some(resolved)) => now.since(resolved) >= age,
        }
    }

    /// Takes what the registry answered at `now`.
    pub fn take(&mut self, list: Vec<Name>, now: Time) {
        self.list = list;
        self.resolved = Some(now);
    }

    /// The list to send by.
    pub fn list(&self) -> &[Name] {
        &self.list
    }
}

impl<Age: FromStr> FromStr for Resolve<Age> {
    type Err = NotAResolve;

    fn from_str(text: &str) -> Result<Self, NotAResolve> {
        match text {
            "static" => Ok(Self::Static),
            "registry" => Ok(Self::Registry),
            _ => {
                let age = text.strip_prefix("registry,cache=").ok_or(NotAResolve)?;
                age.parse().map(Self::Cached).map_err(|_| NotAResolve)
            }
        }
    }
}

impl<Age: fmt::Display> fmt::Display for Resolve<Age> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static => f.write_str("static"),
            Self::Registry => f.write_str("registry"),
            Self::Cached(age) => write!(f, "registry,cache={age}"),
        }
    }
}

impl<Age: fmt::Display> Serialize for Resolve<Age> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, Age: FromStr> Deserialize<'de> for Resolve<Age> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn what_is_written_is_read_back() {
        for (text, resolve) in
            [("static", Resolve::Static), ("registry", Resolve::Registry), ("registry,cache=80", Resolve::Cached(80))]
        {
            assert_eq!(text.parse::<Resolve<u32>>(), Ok(resolve));
            assert_eq!(resolve.to_string(), text);
            assert_eq!(serde_json::from_value::<Resolve<u32>>(text.into()).unwrap(), resolve);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "Static", "registry,", "registry, cache=1", "registry,cache=", "registry,cache=-1", "cache=1"]
        {
            assert_eq!(text.parse::<Resolve<u32>>(), Err(NotAResolve), "{text}");
        }
    }

    #[test]
    fn a_static_list_is_never_asked_for() {
        let resolver = Resolver::new(Resolve::Static, vec![1, 2]);
        assert!(!resolver.is_due(t(1_000_000)));
        assert_eq!(resolver.list(), [1, 2]);
    }

    #[test]
    fn without_a_cache_the_registry_is_asked_at_every_request() {
        let mut resolver = Resolver::new(Resolve::Registry, vec![]);
        resolver.take(vec![1], t(0));
        assert!(resolver.is_due(t(0)));
        assert_eq!(resolver.list(), [1]);
    }

    #[test]
    fn a_cached_list_is_resolved_again_once_it_is_so_old() {
        let mut resolver = Resolver::new(Resolve::Cached(Span::from_millis(800)), vec![]);
        assert!(resolver.is_due(t(100)));
        resolver.take(vec![1], t(100));
        assert!(!resolver.is_due(t(899)));
        assert!(resolver.is_due(t(900)));
    }
}
