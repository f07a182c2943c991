//! What all replicas need, and what is held for it.

use k8s_openapi::jiff::Unit;

use super::{Claim, list};
use crate::api::conditions::{DEPENDENCY_DOWN, Holds};
use crate::cluster::Index;
use crate::engine::{
    DependencyName, DependencyReport, DependencyState, Gate, Obstacle, PERSISTENT_ERRORS, PolicyKey, PolicyReport,
    Reason, ReplicaReport, Time,
};
use crate::runtime::timestamp;

/// Unknown while one of them says nothing, and none is down.
pub(super) fn dependency_down(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let down: Vec<_> = down(report).map(|(dependency, since)| told_down(index, report, dependency, since)).collect();
    if !down.is_empty() {
        return Claim::holds(DEPENDENCY_DOWN, "Down", down.join("; "));
    }
    let silent = report.dependencies.iter().filter_map(|dependency| silence(index, policy, dependency));
    if let Some((reason, message)) = silent.reduce(|(reason, one), (_, other)| (reason, format!("{one}; {other}"))) {
        return Claim { type_: DEPENDENCY_DOWN, holds: Holds::Unknown, reason, message };
    }
    let suspect = report.dependencies.iter().filter(|dependency| dependency.state == DependencyState::Suspect);
    let suspect: Vec<_> = suspect.map(|dependency| dependency.name.to_string()).collect();
    if !suspect.is_empty() {
        let message = format!("the latest attempt at {} failed, which holds already what is held", suspect.join(", "));
        return Claim::fails(DEPENDENCY_DOWN, "Suspect", &message);
    }
    match report.dependencies.len() {
        0 => Claim::fails(DEPENDENCY_DOWN, "None", "the policy lists no dependencies"),
        _ => Claim::fails(DEPENDENCY_DOWN, "Up", "every dependency passes"),
    }
}

/// The dependencies that are down, and since when.
pub fn down(report: &PolicyReport) -> impl Iterator<Item = (&DependencyReport, Time)> {
    report.dependencies.iter().filter_map(|dependency| match dependency.state {
        DependencyState::Down { since } => Some((dependency, since)),
        DependencyState::NeverPassed | DependencyState::Up | DependencyState::Suspect => None,
    })
}

/// The replicas whose ejection or restart is held for a dependency.
pub fn held_for(report: &PolicyReport, name: DependencyName) -> impl Iterator<Item = &ReplicaReport> {
    let is_it = move |by: Obstacle| matches!(by, Obstacle::DependencyDown { dependency, .. } if dependency == name);
    report.replica_reports.iter().filter(move |replica| {
        let gate = matches!(replica.gate, Some((Gate::Open, Reason::Held { by, .. })) if is_it(by));
        gate || matches!(replica.wants_restart, Some((_, Some(by))) if is_it(by))
    })
}

fn told_down(index: &Index, report: &PolicyReport, dependency: &DependencyReport, since: Time) -> String {
    let DependencyReport { name, last, .. } = dependency;
    let since = timestamp(since);
    let since = since.round(Unit::Second).unwrap_or(since);
    let last = last.map(|last| format!(" ({last})")).unwrap_or_default();
    let pods = held_for(report, *name).filter_map(|replica| index.pod(replica.replica));
    let pods = list(pods.map(|pod| pod.name.name.to_string()));
    let held = if pods.is_empty() { "nothing is held for it".to_owned() } else { format!("held for it: {pods}") };
    format!("{name} is down since {since}{last}; {held}")
}

/// Why a dependency says nothing, if it does not.
fn silence(index: &Index, policy: PolicyKey, dependency: &DependencyReport) -> Option<(&'static str, String)> {
    let DependencyReport { name, state, prober_errors, .. } = *dependency;
    let found = index.dependency_targets(policy, name)?;
    let says_nothing = "so it says nothing";
    if let (true, Some(problem)) = (found.sockets.is_empty(), found.problem) {
        return Some(("CannotBeAsked", format!("{name} cannot be asked, {says_nothing}: {problem}")));
    }
    if state == DependencyState::NeverPassed {
        let message = match found.selected {
            0 => ("NoTarget", format!("the selector of {name} selects no pod of this namespace, {says_nothing}")),
            pods => ("NeverPassed", format!("none of the {pods} pods of {name} has passed yet, {says_nothing}")),
        };
        return Some(message);
    }
    (prober_errors >= PERSISTENT_ERRORS).then(|| {
        (
            "ProberErrors",
            format!("the attempts at {name} fail by our own fault, {says_nothing}: see the log of the controller"),
        )
    })
}
