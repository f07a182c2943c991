//! From what the engine holds to what a policy's status says.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self as meta, Condition, MicroTime};
use k8s_openapi::jiff::Timestamp;

use super::findings::{findings, held_for};
use crate::api::{
    BudgetStatus, CapacityStatus, DependencyStatus, GATE, HeartbeatStatus, IntentStatus, PodNote, ProbePolicyStatus,
    RestartCounts, RuleStatus, SeatStatus, StartupStatus, TransitionStatus, WouldHaveStatus, conditions,
};
use crate::cluster::records::PolicyRecord;
use crate::cluster::{Index, WatchKind};
use crate::engine::{
    BudgetReport, Capacity, Dependency, DependencyReport, DependencyState, GateSeen, HeartbeatReport, Intent,
    IntentStage, Lifecycle, Pause, PolicyKey, PolicyReport, Pool, RevisionKey, RuleKind, SeatReport, Time,
};
use crate::runtime::timestamp;

/// What is carried over from before: what an earlier controller or the write before this one said.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The status as last written.
    pub status: &'a ProbePolicyStatus,
    /// The restarts counted before the engine began.
    pub restarts: RestartCounts,
    /// What enforcing would have done before the engine began, if the policy was observed.
    pub would_have: Option<&'a WouldHaveStatus>,
}

/// The status of a policy, whole. Equal to the status before exactly if nothing that it says has changed.
pub fn build(
    index: &Index,
    (policy, record): (PolicyKey, &PolicyRecord),
    report: &PolicyReport,
    transitions: Vec<TransitionStatus>,
    before: Before<'_>,
    now: Time,
) -> ProbePolicyStatus {
    let seats = report.seats.iter().filter_map(|seat| seat_status(index, seat, before.status)).collect();
    ProbePolicyStatus {
        observed_generation: Some(record.generation),
        replicas: report.replicas,
        starting: report.starting,
        in_pool: report.in_pool,
        suspect: report.suspect,
        failing: report.failing,
        paused: report.paused,
        paused_until: report.pause.and_then(Pause::until).map(|until| meta::Time(timestamp(until))),
        applied: report.applied,
        preparing: report.preparing,
        restarts: RestartCounts {
            total: before.restarts.total.saturating_add(report.restarts),
            in_startup: before.restarts.in_startup.saturating_add(report.restarts_in_startup),
            futile: before.restarts.futile.saturating_add(report.restarts_futile),
            gave_up: report.gave_up,
            in_loop: report.in_loop,
        },
        capacity: capacity(report.capacity),
        startups: startups(index, report),
        restart_budget: report.budget.map(budget),
        would_have: would_have(report, before, now),
        rules: rules(index, policy, report),
        heartbeat: report.heartbeat.map(heartbeat),
        dependencies: dependencies(index, policy, report),
        seats,
        ungated: ungated(index, policy, report),
        ungated_count: report.ungated,
        conditions: conditions(index, (policy, record), report, before.status, timestamp(now)),
        transitions,
    }
}

fn capacity(capacity: Capacity) -> CapacityStatus {
    let Capacity { desired, serving, in_loop, never_started, loss } = capacity;
    CapacityStatus { desired, serving, in_loop, never_started, loss: loss.map(|loss| loss.to_string()) }
}

/// How long replicas took to start, by revision.
pub fn startups(index: &Index, report: &PolicyReport) -> Vec<StartupStatus> {
    let name = |revision: Option<RevisionKey>| index.revision(revision?).map(str::to_owned);
    report.startups.iter().map(|(revision, times)| StartupStatus::new(name(*revision), times)).collect()
}

fn budget(report: BudgetReport) -> BudgetStatus {
    let instant = |at: Time| MicroTime(timestamp(at));
    BudgetStatus { left: report.left, next: report.next.map(instant), whole_at: report.whole_at.map(instant) }
}

/// What is counted is counted for one generation.
fn would_have(report: &PolicyReport, before: Before<'_>, now: Time) -> Option<WouldHaveStatus> {
    let (counted, generation) = report.would_have.zip(report.generation)?;
    let of_generation = |said: &&WouldHaveStatus| said.generation == generation;
    let left = before.would_have.filter(of_generation).map(|left| left.counts).unwrap_or_default();
    let said = before.status.would_have.as_ref().filter(of_generation);
    let since = said.map_or_else(|| MicroTime(timestamp(now)), |said| said.since.clone());
    Some(WouldHaveStatus { generation, since, counts: left.plus(counted) })
}

fn rules(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Vec<RuleStatus> {
    let Some(spec) = index.in_force(policy) else { return Vec::new() };
    let status = |kind: RuleKind| {
        let rule = spec.policy.rule(kind)?;
        let ever_passed = report.rules[kind]?.ever_passed;
        Some(RuleStatus { name: kind.into(), ever_passed, question: rule.question.to_string() })
    };
    RuleKind::ALL.into_iter().filter_map(status).collect()
}

fn dependencies(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Vec<DependencyStatus> {
    let listed = index.in_force(policy).into_iter().flat_map(|spec| &spec.policy.dependencies);
    let status = |(dependency, report_of): (&Dependency, &DependencyReport)| DependencyStatus {
        name: dependency.name.to_string(),
        ever_passed: report_of.state != DependencyState::NeverPassed,
        question: dependency.rule.question.to_string(),
        down_since: match report_of.state {
            DependencyState::Down { since } => Some(MicroTime(timestamp(since))),
            DependencyState::NeverPassed | DependencyState::Up | DependencyState::Suspect => None,
        },
        held: u32::try_from(held_for(report, dependency.name).count()).unwrap_or(u32::MAX),
    };
    listed.zip(&report.dependencies).map(status).collect()
}

fn heartbeat(HeartbeatReport { ever_beat, missing, deregistered, .. }: HeartbeatReport) -> HeartbeatStatus {
    HeartbeatStatus { ever_beat, missing, deregistered }
}

fn seat_status(index: &Index, seat: &SeatReport, before: &ProbePolicyStatus) -> Option<SeatStatus> {
    let owner = index.owner(seat.seat.owner)?;
    let name = index.seat_name(seat.seat)?;
    let said = before.seats.iter().find(|said| said.name == name && *said.owner_uid == *owner.uid.0);
    let occupant = seat.memory.occupant.and_then(|replica| index.pod(replica));
    let intent = seat.memory.intent.as_ref();
    Some(SeatStatus {
        name,
        owner: format!("{}/{}", owner_kind(owner.watch), owner.name.name),
        owner_uid: owner.uid.0.to_string(),
        pod: occupant.map(|pod| pod.name.name.to_string()),
        pod_uid: occupant.map(|pod| pod.uid.0.to_string()),
        restarts: seat.memory.restarts,
        foreign: seat.memory.foreign,
        futile: seat.memory.futile,
        cut_short: seat.memory.cut_short,
        last_rule: seat.memory.last_rule.map(Into::into),
        last_restart: seat.memory.last.map(|last| MicroTime(timestamp(last))),
        in_loop: seat.in_loop,
        intent: intent.and_then(|intent| intent_status(index, intent, said)),
    })
}

/// The pod behind an intent is soon gone: its name stays as it was said before.
fn intent_status(index: &Index, intent: &Intent, said: Option<&SeatStatus>) -> Option<IntentStatus> {
    let time = MicroTime(timestamp(intent.at));
    let said = said.and_then(|seat| seat.intent.clone()).filter(|said| same_instant(&said.time, &time));
    let carried_out = intent.stage == IntentStage::CarriedOut;
    let said = said.map(|said| IntentStatus { carried_out, ..said });
    said.or_else(|| {
        let pod = index.pod(intent.replica?)?;
        let (name, uid) = (pod.name.name.to_string(), pod.uid.0.to_string());
        Some(IntentStatus { pod: name, pod_uid: uid, rule: intent.rule.into(), time, carried_out })
    })
}

/// The API keeps microseconds.
fn same_instant(a: &MicroTime, b: &MicroTime) -> bool {
    a.0.as_microsecond() == b.0.as_microsecond()
}

fn owner_kind(watch: Option<WatchKind>) -> &'static str {
    match watch {
        Some(WatchKind::ReplicaSets) => "ReplicaSet",
        Some(WatchKind::StatefulSets) => "StatefulSet",
        Some(WatchKind::DaemonSets) => "DaemonSet",
        Some(WatchKind::ReplicationControllers) => "ReplicationController",
        Some(
            WatchKind::Policies
            | WatchKind::Pods
            | WatchKind::Leases
            | WatchKind::Services
            | WatchKind::EndpointSlices
            | WatchKind::Nodes,
        )
        | None => "Owner",
    }
}

fn ungated(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Vec<PodNote> {
    let wants_gate = index.in_force(policy).is_some_and(|spec| spec.policy.pool == Pool::ReadinessGate);
    if !wants_gate {
        return Vec::new();
    }
    let live = report.replica_reports.iter().filter(|replica| replica.lifecycle == Lifecycle::Live);
    let pods = live.filter_map(|replica| index.pod(replica.replica)).filter(|pod| pod.gate == GateSeen::Ungated);
    let mut names: Vec<_> = pods.map(|pod| pod.name.name.to_string()).collect();
    names.sort_unstable();
    names.truncate(ProbePolicyStatus::LIST_LIMIT);
    let note = |pod| {
        let message = format!(
            "has no readiness gate and is never ejected: add `conditionType: {GATE}` to spec.readinessGates of its pod \
             template, which re-creates it"
        );
        PodNote { pod, message }
    };
    names.into_iter().map(note).collect()
}

fn conditions(
    index: &Index,
    (policy, record): (PolicyKey, &PolicyRecord),
    report: &PolicyReport,
    before: &ProbePolicyStatus,
    now: Timestamp,
) -> Vec<Condition> {
    let findings = findings(index, policy, record, report);
    let ours = |condition: &&Condition| findings.iter().any(|finding| finding.type_ == condition.type_);
    let mut all: Vec<Condition> = before.conditions.iter().filter(ours).cloned().collect();
    for finding in findings {
        conditions::upsert(&mut all, finding, now);
    }
    all
}
