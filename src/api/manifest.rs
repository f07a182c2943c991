//! A ProbePolicy as it stands in a file: read strictly, and checked as the API server checks it.

use std::path::Path;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::yaml::{self, YamlError};
use super::{PauseNote, ProbePolicy, ProbePolicySpec, aligned_to};
use crate::engine::{Phase, RuleKind};

/// Reads the one policy in a file. All that the API server would refuse is refused, with file, line and column.
pub fn read_policy(path: &Path) -> Result<ProbePolicy, YamlError> {
    policy_from_str(&path.display().to_string(), &yaml::read_text(path)?)
}

/// Reads the one policy in `text`, as [`read_policy`] does; errors speak of it as `file`.
pub fn policy_from_str(file: &str, text: &str) -> Result<ProbePolicy, YamlError> {
    let refuse = |path: &str, sentence: &str| yaml::refuse(file, text, path, sentence);
    if let Some((path, sentence)) = pasted(&yaml::from_str(file, text)?) {
        return Err(refuse(&path, &sentence));
    }
    let Manifest { metadata, spec, .. } = yaml::from_str(file, text)?;
    spec.parse(0, Phase::Spread).map_err(|error| refuse(&error.path, &error.sentence))?;
    aligned_to(&metadata).map_err(|error| refuse(&error.path, &error.sentence))?;
    PauseNote::of(&metadata).map_err(|error| refuse(&error.path, &error.sentence))?;
    Ok(ProbePolicy { metadata, spec, status: None })
}

/// The object as a whole. A status, as `kubectl get` prints it, is passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Manifest {
    #[serde(rename = "apiVersion")]
    _api_version: ApiVersion,
    #[serde(rename = "kind")]
    _kind: Kind,
    metadata: ObjectMeta,
    spec: ProbePolicySpec,
    #[serde(default, rename = "status")]
    _status: IgnoredAny,
}

#[derive(Deserialize)]
enum ApiVersion {
    #[serde(rename = "probepolicy.dev/v1alpha1")]
    V1alpha1,
}

#[derive(Deserialize)]
enum Kind {
    ProbePolicy,
}

/// The first member that was pasted from a container's probe, and the line to write instead.
fn pasted(manifest: &Value) -> Option<(String, String)> {
    RuleKind::ALL.into_iter().find_map(|rule| {
        let members = manifest.get("spec")?.get(rule.name())?.as_object()?;
        ["period", "timeout", "initialDelay"].into_iter().find_map(|name| {
            let seconds = members.get(&format!("{name}Seconds"))?;
            Some((format!("spec.{rule}.{name}Seconds"), format!("is written `{name}: {seconds}s` here")))
        })
    })
}
