//! What the lesson counts with, as it stands in its files.

use std::num::NonZeroU32;
use std::path::Path;

use serde::Deserialize;

use crate::api::yaml::{self, YamlError};
use crate::api::{self, Duration, ProbePolicy};
use crate::engine::{Phase, RuleKind, Time};
use crate::lesson::LessonError;
use crate::model::propagation::Check;
use crate::scenario::{Scenario, ScenarioFile};

/// The lesson's policy.
const POLICY: &str = "lessons/propagation/policy.yaml";

/// A fleet, the devices that check it, and the connections to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Traffic {
    /// How many replicas there are.
    pub replicas: NonZeroU32,
    /// So many devices check, each for itself.
    pub devices: Vec<NonZeroU32>,
    /// To each replica in the pool.
    pub connections: Connections,
    /// What happens to one of the replicas.
    pub history: History,
}

/// Connections that are opened at a steady pace.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Connections {
    /// So many are opened.
    pub per_second: NonZeroU32,
    /// How long each stays open.
    pub last: Vec<Duration>,
}

/// What happens to a replica that was good, in this order.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct History {
    /// Its checks begin to fail.
    pub bad_from: Duration,
    /// They pass again.
    pub good_from: Duration,
    /// Its profile is changed.
    pub profile_changed_at: Duration,
}

/// The lesson's traffic.
pub fn traffic() -> Result<Traffic, YamlError> {
    yaml::from_str("lessons/propagation/traffic.yaml", include_str!("../../../lessons/propagation/traffic.yaml"))
}

/// What happens to the replicas on a cluster, and its text.
pub fn on_cluster() -> Result<(Scenario, &'static str), YamlError> {
    let text = include_str!("../../../lessons/propagation/cluster.yaml");
    Ok((ScenarioFile::parse("lessons/propagation/cluster.yaml", text)?, text))
}

/// The policy in a file; without a file, the lesson's.
pub fn policy(file: Option<&Path>) -> Result<ProbePolicy, YamlError> {
    match file {
        Some(file) => api::read_policy(file),
        None => api::policy_from_str(POLICY, include_str!("../../../lessons/propagation/policy.yaml")),
    }
}

/// How a policy, out of that file, checks whether a replica is ready.
pub fn check(policy: &ProbePolicy, file: Option<&Path>) -> Result<Check, LessonError> {
    let parsed = policy.spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    parsed.policy.rule(RuleKind::Readiness).map(Check::from).ok_or_else(|| {
        let file = file.map_or_else(|| POLICY.to_owned(), |file| file.display().to_string());
        LessonError::NoReadiness { file }
    })
}
