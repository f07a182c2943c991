//! The replicas that one rule judges, by what their latest attempts came to: in all, by how they fail, and by what they
//! have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Failure, NodeKey, OutcomeClass, RevisionKey};

/// The judged replicas of one rule.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    pub(super) all: Tally,
    failures: BTreeMap<Failure, u32>,
    revisions: Revisions,
    nodes: BTreeMap<NodeKey, Reached>,
    /// The nodes of which no replica is reached.
    unreached: BTreeSet<NodeKey>,
}

/// Judged replicas by revision. Those of a workload that does not tell its templates apart are of one revision.
#[derive(Clone, Debug, Default)]
pub(super) struct Revisions(BTreeMap<Option<RevisionKey>, Tally>);

/// Judged replicas, by what the latest attempt of one rule came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passing: u32,
    pub(super) failing: u32,
}

/// What the latest attempt of a rule came to, as far as replicas are compared by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Passed,
    Failed(Failure),
}

/// What a replica may have in common with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Kin {
    pub(super) node: Option<NodeKey>,
    pub(super) revision: Option<RevisionKey>,
}

/// The judged replicas of a node, by whether a connection to them comes about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reached {
    reached: u32,
    unreached: u32,
}

impl Judged {
    /// A replica of that kin is judged so.
    pub(super) fn add(&mut self, kin: Kin, sign: Sign) {
        *self.all.of(sign) += 1;
        self.revisions.add(kin.revision, sign);
        if let Sign::Failed(failure) = sign {
            *self.failures.entry(failure).or_default() += 1;
        }
        if let Some(node) = kin.node {
            *self.nodes.entry(node).or_default().of(sign) += 1;
            self.note(node);
        }
    }

    /// One that was judged so is not any more.
    pub(super) fn subtract(&mut self, kin: Kin, sign: Sign) {
        *self.all.of(sign) -= 1;
        self.revisions.subtract(kin.revision, sign);
        if let Sign::Failed(failure) = sign {
            decrement(&mut self.failures, failure, |count| count);
        }
        if let Some(node) = kin.node {
            decrement(&mut self.nodes, node, |reached| reached.of(sign));
            self.note(node);
        }
    }

    /// So many are at least two, and more than half.
    pub(super) fn are_most(&self, failing: u32) -> bool {
        failing >= 2 && failing > self.all.judged() / 2
    }

    /// Most fail, however they do.
    pub(super) fn are_most_failing(&self) -> bool {
        self.are_most(self.all.failing)
    }

    /// How many fail as one that fails so; for one that does not fail, in whatever way.
    pub(super) fn failing_like(&self, failure: Option<Failure>) -> u32 {
        let Some(failure) = failure else { return self.all.failing };
        self.failures.iter().filter(|(other, _)| other.is_like(failure)).map(|(_, count)| count).sum()
    }

    /// Whether most of another revision passes, so that what most of this one fails is its own fault.
    pub(super) fn is_of_revision(&self, revision: Option<RevisionKey>) -> bool {
        self.revisions.0.iter().any(|(other, tally)| *other != revision && tally.passing > tally.failing)
    }

    /// The revisions.
    pub(super) fn revisions(&self) -> &Revisions {
        &self.revisions
    }

    /// Whether the path to a node is cut: there are at least two judged replicas, no connection to any of them comes
    /// about, and somebody elsewhere passes.
    pub(super) fn is_cut(&self, node: NodeKey) -> bool {
        self.all.passing > 0 && self.unreached.contains(&node)
    }

    /// The nodes to which the path is cut.
    pub(super) fn cut(&self) -> impl Iterator<Item = NodeKey> {
        self.unreached.iter().copied().filter(|node| self.is_cut(*node))
    }

    /// The judged replicas of a node; those that no connection reaches fail.
    pub(super) fn of_node(&self, node: NodeKey) -> Tally {
        let Reached { reached, unreached } = self.nodes.get(&node).copied().unwrap_or_default();
        Tally { passing: reached, failing: unreached }
    }

    fn note(&mut self, node: NodeKey) {
        match self.of_node(node) {
            Tally { passing: 0, failing: 2.. } => self.unreached.insert(node),
            Tally { .. } => self.unreached.remove(&node),
        };
    }
}

impl Revisions {
    /// A replica of that revision is judged so.
    pub(super) fn add(&mut self, revision: Option<RevisionKey>, sign: Sign) {
        *self.0.entry(revision).or_default().of(sign) += 1;
    }

    /// One that was judged so is not any more.
    pub(super) fn subtract(&mut self, revision: Option<RevisionKey>, sign: Sign) {
        decrement(&mut self.0, revision, |tally| tally.of(sign));
    }

    /// The judged replicas of one revision.
    pub(super) fn of(&self, revision: Option<RevisionKey>) -> Tally {
        self.0.get(&revision).copied().unwrap_or_default()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Option<RevisionKey>, Tally)> {
        self.0.iter().map(|(revision, tally)| (*revision, *tally))
    }
}

impl Tally {
    /// All that are judged.
    pub(super) fn judged(self) -> u32 {
        self.passing + self.failing
    }

    fn of(&mut self, sign: Sign) -> &mut u32 {
        match sign {
            Sign::Passed => &mut self.passing,
            Sign::Failed(_) => &mut self.failing,
        }
    }
}

impl Reached {
    fn of(&mut self, sign: Sign) -> &mut u32 {
        match sign {
            Sign::Failed(Failure::Unreachable) => &mut self.unreached,
            Sign::Passed | Sign::Failed(_) => &mut self.reached,
        }
    }
}

impl Sign {
    /// What an attempt that ended so says; `None` if nothing.
    pub(super) fn of(class: OutcomeClass) -> Option<Self> {
        if class == OutcomeClass::Passed { Some(Self::Passed) } else { class.failure().map(Self::Failed) }
    }
}

/// Counts one less, and forgets whom nothing counts any more.
fn decrement<K: Ord, C: Default + PartialEq>(counts: &mut BTreeMap<K, C>, key: K, count: impl Fn(&mut C) -> &mut u32) {
    if let std::collections::btree_map::Entry::Occupied(mut entry) = counts.entry(key) {
        *count(entry.get_mut()) -= 1;
        if *entry.get() == C::default() {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNREACHABLE: Sign = Sign::Failed(Failure::Unreachable);
    const SILENT: Sign = Sign::Failed(Failure::NoResponse);
    const SAYS_NO: Sign = Sign::Failed(Failure::BadStatus);

    fn judged(replicas: &[(u32, Sign)]) -> Judged {
        let mut judged = Judged::default();
        for (node, sign) in replicas {
            judged.add(on(*node), *sign);
        }
        judged
    }

    fn on(node: u32) -> Kin {
        Kin { node: Some(NodeKey(node)), revision: None }
    }

    #[test]
    fn a_path_is_cut_if_at_least_two_and_all_are_unreachable_while_somebody_elsewhere_passes() {
        let passes = (0, Sign::Passed);
        for (replicas, cut) in [
            (vec![passes, (1, UNREACHABLE), (1, UNREACHABLE)], true),
            (vec![(1, UNREACHABLE), (1, UNREACHABLE)], false),
            (vec![passes, (1, UNREACHABLE)], false),
            (vec![passes, (1, UNREACHABLE), (1, UNREACHABLE), (1, Sign::Passed)], false),
            (vec![passes, (1, UNREACHABLE), (1, UNREACHABLE), (1, SAYS_NO)], false),
            (vec![passes, (1, SILENT), (1, SILENT)], false),
        ] {
            assert_eq!(judged(&replicas).is_cut(NodeKey(1)), cut, "{replicas:?}");
        }
    }

    #[test]
    fn whoever_does_not_answer_fails_alike_and_whoever_does_fails_as_it_says() {
        let judged = judged(&[(0, UNREACHABLE), (0, SILENT), (0, SAYS_NO), (0, Sign::Failed(Failure::NotServing))]);
        let like = |failure| judged.failing_like(Some(failure));
        assert_eq!((like(Failure::NoResponse), like(Failure::BadStatus), judged.failing_like(None)), (2, 1, 4));
    }

    #[test]
    fn whoever_leaves_leaves_nothing_behind() {
        let mut judged = judged(&[(1, UNREACHABLE), (1, UNREACHABLE)]);
        judged.subtract(on(1), UNREACHABLE);
        judged.subtract(on(1), UNREACHABLE);
        assert!(judged.nodes.is_empty() && judged.failures.is_empty() && judged.revisions.0.is_empty());
        assert_eq!((judged.all, judged.unreached.len()), (Tally::default(), 0));
    }
}
