//! Where the own rules of a replica want its gate, as far as that follows from what it was asked and has said.

use probe_policy::engine::{Evidence, Gate, Obstacle, Policy, Presence, ReplicaReport, RuleKind};

use super::super::cluster::Pod;
use super::super::controller::Controller;
use super::super::reference::{Naive, Proof, has_rules};

/// Why its own rules want a gate so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// It passes, or no rule says otherwise.
    Fine,
    /// A rule says otherwise, but nobody has passed that one.
    Unproven,
    /// It is down or starts.
    Absent,
    /// A rule fails.
    Failing,
    /// A rule fails that it has never passed, nor any other.
    FailingAtFirst,
    /// As before.
    Undecided,
}

/// A replica to be judged, and where its gate stood before; `None` if that is not known.
pub(super) struct Judged<'a> {
    pub(super) naive: &'a Naive,
    pub(super) pod: &'a Pod,
    pub(super) spec: &'a Policy,
    pub(super) report: &'a ReplicaReport,
    pub(super) before: Option<Option<Gate>>,
}

impl Controller {
    /// While the policy enforces; `None` if it follows from what is not known here.
    pub(super) fn own(&self, judged: &Judged<'_>) -> Option<(Gate, Own)> {
        let Judged { naive, pod, spec, report, .. } = *judged;
        if has_rules(spec) && !pod.runs() {
            return Some((Gate::Closed, Own::Absent));
        }
        if matches!(report.wants_restart, Some((_, Some(Obstacle::GaveUp { .. })))) {
            return Some((Gate::Closed, if naive.started { Own::Failing } else { Own::Absent }));
        }
        if spec.rule(RuleKind::Startup).is_some() && !naive.started {
            return self.stays_in(RuleKind::Startup, judged).map(|stays| match stays {
                true => (Gate::Open, Own::Unproven),
                false => (Gate::Closed, Own::Absent),
            });
        }
        let asked = self.by_readiness(judged);
        match report.presence {
            Some(presence) => self.by_beats(presence, asked, judged),
            None => asked,
        }
    }

    fn by_readiness(&self, judged: &Judged<'_>) -> Option<(Gate, Own)> {
        let Judged { naive, spec, before, .. } = *judged;
        if spec.rule(RuleKind::Readiness).is_none() {
            return Some((Gate::Open, Own::Fine));
        }
        let judgement = naive.judgement(RuleKind::Readiness);
        match (judgement.verdict, judgement.proof) {
            (_, Proof::Unknown) => None,
            (Some(Evidence::Pass), _) => Some((Gate::Open, Own::Fine)),
            (Some(_), _) => self.stays_in(RuleKind::Readiness, judged).map(|stays| match stays {
                true => (Gate::Open, Own::Unproven),
                false => (Gate::Closed, if naive.started { Own::Failing } else { Own::FailingAtFirst }),
            }),
            (None, Proof::Preparing) => Some((Gate::Closed, Own::Absent)),
            (None, Proof::Given) => before.map(|before| (before.unwrap_or(Gate::Closed), Own::Undecided)),
        }
    }

    /// Either keeps it out: what it is asked, or that it says nothing.
    fn by_beats(&self, presence: Presence, asked: Option<(Gate, Own)>, judged: &Judged<'_>) -> Option<(Gate, Own)> {
        let Judged { naive, before, .. } = *judged;
        let was_in = before.map(|before| before == Some(Gate::Open));
        let has_beaten = naive.beats.is_some_and(|beats| beats.last.is_some());
        let is_missing = match presence {
            Presence::Deregistered => return Some((Gate::Closed, Own::Absent)),
            Presence::Missing if naive.started => true,
            Presence::Missing => was_in?,
            Presence::Awaited | Presence::Present | Presence::Late => false,
        };
        if is_missing && self.reference.ever_beat {
            return Some((Gate::Closed, if naive.started { Own::Failing } else { Own::FailingAtFirst }));
        }
        match asked? {
            (Gate::Closed, why) => Some((Gate::Closed, why)),
            (Gate::Open, why) => match (has_beaten, was_in?) {
                (_, true) if is_missing => Some((Gate::Open, Own::Unproven)),
                (false, false) => Some((Gate::Closed, Own::Absent)),
                (_, _) => Some((Gate::Open, why)),
            },
        }
    }

    /// Whether nobody has passed a rule, so that it ejects nobody; `None` if that is not known.
    fn stays_in(&self, kind: RuleKind, judged: &Judged<'_>) -> Option<bool> {
        match self.reference.ever_passed[kind] {
            true => Some(false),
            false => judged.before.map(|before| before == Some(Gate::Open)),
        }
    }
}
