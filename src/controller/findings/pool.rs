//! Who is in the pool, and for whose sake.

use std::collections::BTreeMap;

use super::{Claim, list};
use crate::api::ParsedPolicy;
use crate::api::conditions::{BELOW_FLOOR, EJECTION_NOT_EFFECTIVE, PREPARING, SHARED_FAILURE, WRITES_LAG};
use crate::cluster::Index;
use crate::engine::{
    Among, FloorReport, Gate, Lifecycle, Obstacle, OnPolicyChange, Part, PartReport, PolicyKey, PolicyReport, Reason,
    WhenBelow,
};

pub(super) fn writes_lag(report: &PolicyReport) -> Claim {
    if report.unwritten == 0 {
        return Claim::fails(WRITES_LAG, "None", "every gate is written as it was decided");
    }
    let message = format!(
        "{} gates are not written yet as they were decided, one of them for {}: ejections go first; is the API server \
         slow, or --max-writes-per-second too low?",
        report.unwritten, report.write_lag
    );
    Claim::holds(WRITES_LAG, "GatesNotWritten", message)
}

pub(super) fn ejection_not_effective(report: &PolicyReport) -> Claim {
    let pods = report.ejection_not_effective;
    if pods == 0 {
        return Claim::fails(EJECTION_NOT_EFFECTIVE, "AllEffective", "every closed gate has taken its pod out");
    }
    let message = format!("{pods} replicas with a closed gate are still Ready after 5s: is their kubelet alive?");
    Claim::holds(EJECTION_NOT_EFFECTIVE, "ReadyDidNotFollow", message)
}

pub(super) fn shared_failure(index: &Index, report: &PolicyReport) -> Claim {
    let restarts = report.parts.iter().map(|part| ("RestartsHeld", format!("restarts wait: {}", cause(index, part))));
    let ejections = kept_in(index, report).into_iter().map(|(node, (pods, reason))| {
        let on_node = node.map(|node| format!(" (node {node})")).unwrap_or_default();
        ("NoWorseThanNeighbours", format!("{}{on_node}: {reason}", list(pods.into_iter())))
    });
    let claims: Vec<_> = ejections.chain(restarts).collect();
    let Some(&(reason, _)) = claims.first() else {
        return Claim::fails(SHARED_FAILURE, "None", "no replica is spared for failing as its neighbours do");
    };
    let told: Vec<_> = claims.into_iter().map(|(_, told)| told).collect();
    Claim::holds(SHARED_FAILURE, reason, told.join("; "))
}

/// The pods that are in although their readiness rule fails, since their neighbours fail with them, and the reason of one
/// of them; by node, where the path to that is cut.
fn kept_in(index: &Index, report: &PolicyReport) -> BTreeMap<Option<String>, (Vec<String>, Reason)> {
    let mut kept: BTreeMap<Option<String>, (Vec<String>, Reason)> = BTreeMap::new();
    for replica in &report.replica_reports {
        if let Some((Gate::Open, reason)) = replica.gate
            && let Reason::Held { by, .. } | Reason::HeldWithoutBeat { by } = reason
            && let Obstacle::SharedFailure { among, .. } = by
            && let Some(pod) = index.pod(replica.replica)
        {
            let node = pod.node.as_deref().filter(|_| among == Among::Node).map(str::to_owned);
            kept.entry(node).or_insert_with(|| (Vec::new(), reason)).0.push(pod.name.name.to_string());
        }
    }
    kept
}

/// What the replicas of a part share: `4 of 4 on node b: connect timeout`.
fn cause(index: &Index, part: &PartReport) -> String {
    let PartReport { part, failing, judged, last, .. } = *part;
    let name = match part {
        Part::Node(node) => index.node(node),
        Part::Revision(revision) | Part::Starting(revision) => revision.and_then(|revision| index.revision(revision)),
    };
    let name = name.unwrap_or("unknown");
    let last = last.map(|last| format!(": {last}")).unwrap_or_default();
    match part {
        Part::Node(_) => format!("{failing} of {judged} on node {name}{last}"),
        Part::Revision(_) => format!("{failing} of {judged} of revision {name}{last}"),
        Part::Starting(_) => format!("{failing} of {judged} of revision {name} failed to start{last}"),
    }
}

pub(super) fn below_floor(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let settings = index.in_force(policy).and_then(|spec| spec.policy.floor);
    let (FloorReport::Below { ready, floor }, Some(settings)) = (report.floor, settings) else {
        return Claim::fails(BELOW_FLOOR, "Enough", "no more replicas fail than the pool can spare");
    };
    let (reason, course) = match settings.when_below {
        WhenBelow::Hold => ("Held", "nobody who is in is ejected for failing"),
        WhenBelow::Open => ("Opened", "whoever has started is let in"),
        WhenBelow::Close => ("Closed", "nobody is let in"),
    };
    let message = format!(
        "{}: {course}, until enough have been ready for {}",
        Reason::BelowFloor { ready, floor },
        settings.cooldown
    );
    Claim::holds(BELOW_FLOOR, reason, message)
}

/// While nobody prepares, what an edit would do.
pub(super) fn preparing(in_force: Option<&ParsedPolicy>, report: &PolicyReport) -> Claim {
    let &PolicyReport { replicas, preparing, awaiting, .. } = report;
    if preparing + awaiting > 0 {
        let message = format!(
            "{preparing} of {replicas} replicas are out of the pool until they have passed what an edit asks, and \
             {awaiting} keep their place until it is their turn"
        );
        return Claim::holds(PREPARING, "NotPassedYet", message);
    }
    let live = report.replica_reports.iter().filter(|replica| replica.lifecycle == Lifecycle::Live);
    let leave = live.filter(|replica| matches!(replica.gate, Some((Gate::Open, _)))).count();
    let (reason, message) = match in_force.map_or(OnPolicyChange::Keep, |spec| spec.policy.on_policy_change) {
        OnPolicyChange::Keep => ("WouldKeep", "an edit of what readiness asks takes nobody out of the pool".to_owned()),
        OnPolicyChange::Prepare => (
            "WouldPrepare",
            format!(
                "an edit of what readiness asks would take {leave} of {replicas} replicas out of the pool at once, until \
                 they have passed it"
            ),
        ),
        OnPolicyChange::Rolling => (
            "WouldRoll",
            format!(
                "an edit of what readiness asks would take {leave} of {replicas} replicas out of the pool, a few at a \
                 time, but for those that have passed it by their turn"
            ),
        ),
    };
    Claim::fails(PREPARING, reason, &message)
}
