//! What the process believes at an instant, for `/state`, `/readyz` and the gauges.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::elect::Standing;
use super::findings::down;
use super::status::startups;
use crate::api::StartupStatus;
use crate::cluster::Index;
use crate::cluster::records::PolicyRecord;
use crate::engine::{
    BreakerReport, Engine, FloorReport, Gate, Obstacle, PerRule, PolicyReport, Presence, Reason, ReplicaReport,
    RuleKind, SeatReport, Stretch, Time, WouldHave,
};
use crate::runtime::timestamp;

/// Everything.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Whether this process leads. One that does not has no engine, and so believes nothing of any policy.
    pub leader: bool,
    /// The election, as last seen.
    pub lease: LeaseState,
    /// By how much the ceiling on attempts stretches every period: 1 if it does not.
    pub period_stretch: f64,
    /// The watches.
    pub watches: Vec<WatchState>,
    /// When the engine wants to decide next if nothing happens before, and what for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_deadline: Option<DeadlineState>,
    /// The policies.
    pub policies: Vec<PolicyState>,
}

/// The election, as last seen.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseState {
    /// Who holds the lease.
    pub holder: Option<String>,
    /// Until when this process may act unless it renews before.
    pub until: Option<Timestamp>,
}

/// A watch.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchState {
    /// What it watches, in the plural.
    pub kind: &'static str,
    /// Whether its first list is complete.
    pub listed: bool,
    /// Since it last delivered anything.
    pub event_age_seconds: Option<f64>,
    /// The error it is trying to get over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// When something is due.
#[derive(Clone, Debug, Serialize)]
pub struct DeadlineState {
    /// When.
    pub at: Timestamp,
    /// What for.
    pub why: &'static str,
}

/// A policy and its replicas.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyState {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The generation of the spec in force.
    pub generation: Option<i64>,
    /// How many replicas are how.
    pub counts: Counts,
    /// How long replicas took to start.
    pub startups: Vec<StartupStatus>,
    /// For how long at most a gate has stood otherwise than it should, if that is a second or more.
    pub write_lag_seconds: f64,
    /// What enforcing would have done since this process leads, while the policy observes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub would_have: BTreeMap<&'static str, u32>,
    /// The seats that remember anything.
    pub seats: Vec<SeatState>,
    /// The replicas.
    pub replicas: Vec<ReplicaView>,
}

/// How many replicas are how; see [`PolicyReport`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    missing_docs,
    reason = "each is the field of PolicyReport or of its heartbeat of the same name, or whether that holds"
)]
pub struct Counts {
    pub replicas: u32,
    pub starting: u32,
    pub in_pool: u32,
    pub suspect: u32,
    pub failing: u32,
    pub paused: u32,
    pub desired: u32,
    pub serving: u32,
    pub never_started: u32,
    pub applied: u32,
    pub preparing: u32,
    pub ungated: u32,
    pub unwritten: u32,
    pub restarts: u32,
    pub in_loop: u32,
    pub gave_up: u32,
    pub breaker_open: bool,
    pub shared_failures: u32,
    pub below_floor: bool,
    pub dependencies_down: u32,
    pub missing: u32,
    pub deregistered: u32,
}

/// A seat.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeatState {
    /// Its name for people.
    pub seat: Option<String>,
    /// The pod that sits there.
    pub pod: Option<String>,
    /// Our restarts that are not forgotten.
    pub restarts: u32,
    /// Those of others.
    pub foreign: u32,
    /// Whether they make a loop.
    pub in_loop: bool,
    /// The rule whose restart is in flight.
    pub restart_in_flight: Option<&'static str>,
}

/// A replica.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaView {
    /// Its pod.
    #[serde(serialize_with = "text")]
    pub pod: Arc<str>,
    /// What it is held for.
    pub state: &'static str,
    /// How the gate should stand; `None` where it is left alone.
    pub gate: Option<&'static str>,
    /// Why it should.
    #[serde(serialize_with = "sentence")]
    pub reason: Option<Reason>,
    /// Failures in a row, by rule.
    #[serde(serialize_with = "by_rule")]
    pub failures: PerRule<Option<u32>>,
    /// Whether it says that it is there, if the policy has a heartbeat rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<&'static str>,
    /// The rule that wants a restart.
    pub wants_restart: Option<&'static str>,
    /// What stands in its way.
    #[serde(serialize_with = "sentence")]
    pub held_by: Option<Obstacle>,
    /// The generation of the spec under which all its rules have judged it.
    pub applied_generation: Option<i64>,
    /// When something is to be done for it next, and what.
    pub next: Option<DeadlineState>,
}

impl State {
    /// What is believed now. Without an engine nothing is believed of any policy.
    pub fn new(index: &Index, engine: Option<&Engine>, standing: Standing, now: Time) -> Self {
        let deadline = engine.and_then(Engine::next_deadline);
        let stretched = engine.and_then(Engine::stretched);
        let policies = index.policies().filter_map(|(key, record)| {
            let report = engine?.report(key, now)?;
            Some(policy_state(index, record, &report))
        });
        Self {
            leader: engine.is_some(),
            lease: LeaseState { holder: standing.holder, until: standing.tenure.map(|tenure| timestamp(tenure.until)) },
            period_stretch: stretched.map_or(Stretch::NONE, |stretched| stretched.stretch).factor(),
            watches: watches(index, now),
            next_deadline: deadline.map(deadline_state),
            policies: policies.collect(),
        }
    }
}

fn deadline_state((at, why): (Time, &'static str)) -> DeadlineState {
    DeadlineState { at: timestamp(at), why }
}

fn watches(index: &Index, now: Time) -> Vec<WatchState> {
    let watch = index.watches().map(|(kind, health)| WatchState {
        kind: kind.name(),
        listed: health.listed,
        event_age_seconds: health.last_event.map(|last| now.since(last).as_secs_f64()),
        failure: health.failure,
    });
    watch.collect()
}

fn policy_state(index: &Index, record: &PolicyRecord, report: &PolicyReport) -> PolicyState {
    let counts = Counts {
        replicas: report.replicas,
        starting: report.starting,
        in_pool: report.in_pool,
        suspect: report.suspect,
        failing: report.failing,
        paused: report.paused,
        desired: report.capacity.desired,
        serving: report.capacity.serving,
        never_started: report.capacity.never_started,
        applied: report.applied,
        preparing: report.preparing,
        ungated: report.ungated,
        unwritten: report.unwritten,
        restarts: report.restarts,
        in_loop: report.in_loop,
        gave_up: report.gave_up,
        below_floor: report.floor != FloorReport::Above,
        breaker_open: report.breaker != BreakerReport::Closed,
        dependencies_down: u32::try_from(down(report).count()).unwrap_or(u32::MAX),
        missing: report.heartbeat.map_or(0, |heartbeat| heartbeat.missing),
        deregistered: report.heartbeat.map_or(0, |heartbeat| heartbeat.deregistered),
        shared_failures: u32::try_from(report.parts.len()).unwrap_or(u32::MAX),
    };
    let mut replicas = Vec::with_capacity(report.replica_reports.len());
    replicas.extend(report.replica_reports.iter().filter_map(|replica| replica_view(index, replica)));
    PolicyState {
        namespace: record.name.namespace.to_string(),
        name: record.name.name.to_string(),
        generation: report.generation,
        counts,
        startups: startups(index, report),
        write_lag_seconds: report.write_lag.as_secs_f64(),
        would_have: report.would_have.iter().flat_map(WouldHave::counts).collect(),
        seats: report.seats.iter().map(|seat| seat_state(index, seat)).collect(),
        replicas,
    }
}

fn seat_state(index: &Index, seat: &SeatReport) -> SeatState {
    let pod = seat.memory.occupant.and_then(|replica| index.pod(replica));
    SeatState {
        seat: index.seat_label(seat.seat),
        pod: pod.map(|pod| pod.name.name.to_string()),
        restarts: seat.memory.restarts,
        foreign: seat.memory.foreign,
        in_loop: seat.in_loop,
        restart_in_flight: seat.memory.intent.map(|intent| intent.rule.name()),
    }
}

fn replica_view(index: &Index, replica: &ReplicaReport) -> Option<ReplicaView> {
    Some(ReplicaView {
        pod: index.pod(replica.replica)?.name.name.clone(),
        state: replica.state.name(),
        gate: replica.gate.map(|(gate, _)| match gate {
            Gate::Open => "open",
            Gate::Closed => "closed",
        }),
        reason: replica.gate.map(|(_, reason)| reason),
        failures: replica.streaks,
        presence: replica.presence.map(Presence::name),
        wants_restart: replica.wants_restart.map(|(rule, _)| rule.name()),
        held_by: replica.wants_restart.and_then(|(_, by)| by),
        applied_generation: replica.applied,
        next: replica.next.map(deadline_state),
    })
}

fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn sentence<S: Serializer>(what: &Option<impl Display>, serializer: S) -> Result<S::Ok, S::Error> {
    match what {
        Some(what) => serializer.collect_str(what),
        None => serializer.serialize_none(),
    }
}

fn by_rule<S: Serializer>(count: &PerRule<Option<u32>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(RuleKind::ALL.into_iter().filter_map(|rule| Some((rule.name(), count[rule]?))))
}
