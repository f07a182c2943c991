//! The breakers of nodes and revisions, whose replicas may fail for one cause.

use std::collections::{BTreeMap, BTreeSet};

use probe_policy::engine::{
    Amount, Evidence, Failure, Lifecycle, Mode, NodeKey, OutcomeClass, Part, ReplicaKey, RevisionKey, RuleKind, Time,
    Trial,
};

use super::{Fleet, Member, amount, fleet::is_open, since};

/// Of each part: since when fewer fail than open its breaker, and whether that was open.
pub(super) type Parts = BTreeMap<Part, (Option<Time>, bool)>;

impl Fleet<'_> {
    /// Each is open while so many fail, and for the cooldown after; no longer, and nothing else opens it.
    pub(super) fn check_parts(&self, before: &Parts) -> Parts {
        let reported = |part: &Part| self.report.parts.iter().any(|report| report.part == *part);
        let parts: BTreeSet<Part> = self.members.iter().flat_map(|member| parts_of(member.pod.node, member)).collect();
        let parts = parts.into_iter().chain(before.keys().copied()).chain(self.report.parts.iter().map(|p| p.part));
        let cooldown = self.spec.fleet.breaker.map(|breaker| breaker.cooldown);
        let mut now = Parts::new();
        for part in parts.collect::<BTreeSet<_>>() {
            let Some(opens) = self.opens_part(part) else { continue };
            let (calm, was_open) = before.get(&part).copied().unwrap_or((Some(self.now), false));
            let calm = since(calm, !opens, self.now);
            let cools = calm.zip(cooldown).is_some_and(|(calm, cooldown)| calm + cooldown > self.now);
            // That a start is not decided any more, since a restart ended, is seen when the replica is asked again.
            let is_known = !matches!(part, Part::Starting(_));
            is_open(&format!("{part:?}"), reported(&part), opens, was_open && is_known, cools || !is_known);
            if opens || cools || reported(&part) {
                now.insert(part, (calm, reported(&part)));
            }
        }
        now
    }

    /// A restart goes on only as the trial of every breaker that is open for it, or after one that helped.
    pub(super) fn check_trials(&self, replica: ReplicaKey) {
        let Some(member) = self.member(replica) else { return };
        let of_it: Vec<_> = parts_of(member.pod.node, member).collect();
        for open in self.report.parts.iter().filter(|open| of_it.contains(&open.part)) {
            match open.trial {
                Trial::Helped => {}
                Trial::Runs { seat, .. } => {
                    assert_eq!(
                        member.report.seat,
                        Some(seat),
                        "[breaker] a restart beside the trial of {:?}",
                        open.part
                    );
                }
                Trial::Waits { .. } => panic!("[breaker] a restart while that of {:?} is open", open.part),
            }
        }
    }

    /// Whether so many of a part fail for its cause that its breaker is open; `None` if that is not known here.
    fn opens_part(&self, part: Part) -> Option<bool> {
        let Some(breaker) = self.spec.fleet.breaker else { return Some(false) };
        let judged = |member: &Member<'_>| member.naive.liveness(self.spec, member.pod, self.now);
        let (open_at, failing, judged) = match part {
            Part::Node(node) => {
                let all = self.members.iter().filter(|member| member.pod.node == node).filter_map(judged);
                let (cut, all) = (self.is_cut(node, judged), all.count() as u32);
                (Amount::Percent(100), if cut { all } else { 0 }, all)
            }
            Part::Revision(revision) => {
                let is_theirs = self.is_of_revision(revision, judged);
                let all = self.members.iter().filter(|member| Some(member.pod.revision) == revision);
                let (failing, all) = super::fleet::tally(all.filter_map(judged).map(OutcomeClass::evidence));
                (breaker.open_at, if is_theirs { failing } else { 0 }, all)
            }
            Part::Starting(revision) => {
                let (failing, all) = self.starts(revision)?;
                let is_certain = failing >= breaker.min_judged;
                (breaker.open_at, if is_certain { failing } else { 0 }, all)
            }
        };
        Some(judged >= breaker.min_judged && failing >= amount(open_at, judged).max(2))
    }

    /// How many of a revision's replicas fail to start for certain, and of how many that may be decided. Where somebody
    /// is paused the one or other decision is void.
    fn starts(&self, revision: Option<RevisionKey>) -> Option<(u32, u32)> {
        if self.spec.mode != Mode::Enforce || self.members.iter().any(|member| member.is_paused) {
            return None;
        }
        let Some(rule) = self.spec.rule(RuleKind::Startup) else { return Some((0, 0)) };
        let of_it =
            |member: &&Member<'_>| Some(member.pod.revision) == revision && member.pod.lifecycle == Lifecycle::Live;
        let fails = |member: &&Member<'_>| {
            member.pod.runs() && !member.naive.started && member.naive.judgement(RuleKind::Startup).is_failing(rule)
        };
        let all = self.members.iter().filter(of_it).count() as u32;
        Some((self.members.iter().filter(of_it).filter(fails).count() as u32, all))
    }

    /// The path to a node is cut: no connection to at least two replicas there, and all, comes about, and somebody
    /// elsewhere passes.
    pub(super) fn is_cut(&self, node: NodeKey, judged: impl Fn(&Member<'_>) -> Option<OutcomeClass>) -> bool {
        let there = || self.members.iter().filter(|member| member.pod.node == node).filter_map(&judged);
        let somebody_passes = self.members.iter().filter_map(&judged).any(|class| class == OutcomeClass::Passed);
        let is_unreached = |class: OutcomeClass| class.failure() == Some(Failure::Unreachable);
        somebody_passes && there().count() >= 2 && there().all(is_unreached)
    }

    /// More of another revision pass than fail.
    pub(super) fn is_of_revision(
        &self,
        revision: Option<RevisionKey>,
        judged: impl Fn(&Member<'_>) -> Option<OutcomeClass>,
    ) -> bool {
        let mut others = BTreeMap::<RevisionKey, i32>::new();
        for member in self.members.iter().filter(|member| Some(member.pod.revision) != revision) {
            match judged(member).map(OutcomeClass::evidence) {
                Some(Evidence::Pass) => *others.entry(member.pod.revision).or_default() += 1,
                Some(Evidence::Fail) => *others.entry(member.pod.revision).or_default() -= 1,
                Some(Evidence::Nothing) | None => {}
            }
        }
        others.values().any(|surplus| *surplus > 0)
    }
}

/// The parts that a replica is one of.
fn parts_of(node: NodeKey, member: &Member<'_>) -> impl Iterator<Item = Part> + use<> {
    let revision = Some(member.pod.revision);
    let rest = if member.naive.started { Part::Revision(revision) } else { Part::Starting(revision) };
    [Part::Node(node), rest].into_iter()
}
