//! What all replicas of a policy need and none of them is: a dependency, asked by itself.

use std::fmt;

use super::{PolicyKey, Rule};

/// A dependency, and what is held for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its name; no two of a policy bear the same.
    pub name: DependencyName,
    /// How it is asked. It fails and passes as a replica does under a rule.
    pub rule: Rule,
    /// What is held while it fails.
    pub when_down: WhenDown,
}

/// What is held while a dependency fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDown {
    /// Nobody who is in the pool is ejected for failing readiness.
    HoldEjections,
    /// Nor is anybody restarted.
    HoldAll,
}

/// The name of a dependency, short enough to be carried by every reason.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DependencyName([u8; DependencyName::LONGEST]);

/// One attempt at a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DependencyAttempt {
    /// The policy that lists it.
    pub policy: PolicyKey,
    /// Which dependency.
    pub dependency: DependencyName,
    /// Counts the attempts at the dependencies of the policy.
    pub serial: u32,
}

impl DependencyName {
    /// The most characters it may have.
    pub const LONGEST: usize = 15;

    /// From 1 to 15 lower-case letters, digits and inner hyphens; `None` for anything else.
    pub fn new(name: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_spaced = !name.starts_with('-') && !name.ends_with('-');
        if name.is_empty() || !is_spaced || !name.bytes().all(is_allowed) {
            return None;
        }
        let mut bytes = [0; Self::LONGEST];
        bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        Some(Self(bytes))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default().trim_end_matches('\0')
    }
}

impl fmt::Display for DependencyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for DependencyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_short_label() {
        for (name, is_one) in [
            ("store", true),
            ("a", true),
            ("exactly-15-long", true),
            ("sixteen-is-more-", false),
            ("sixteen-is-more1", false),
            ("", false),
            ("-a", false),
            ("a-", false),
            ("Store", false),
            ("a.b", false),
        ] {
            assert_eq!(DependencyName::new(name).map(|it| it.to_string()), is_one.then(|| name.to_owned()), "{name}");
        }
    }
}
