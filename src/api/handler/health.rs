//! What a rule reads of a health body (`application/health+json`).

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::checks::Check;
use crate::api::convert::SpecError;

/// What a rule reads of a health body. A component counts if it is named here, or if its scope is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = SOMETHING.rule())]
pub struct HealthBody {
    /// Components by name, at most 16, such as database:connections. Each has to be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 253)))]
    pub components: Vec<String>,

    /// Components by scope: Process (the process itself), Path (the replica's own path to its work), Shared (what all
    /// replicas depend on). At least one component has to be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 3))]
    pub scopes: Vec<ComponentScope>,
}

/// What a component of a health body is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ComponentScope {
    /// The process itself: a restart may heal it.
    Process,
    /// The replica's own path to its work: other replicas may have theirs.
    Path,
    /// What all replicas depend on.
    Shared,
}

impl HealthBody {
    pub(super) fn parse(at: &str, spec: &Self) -> Result<Self, SpecError> {
        SOMETHING.parse(at, spec)?;
        Ok(spec.clone())
    }
}

const SOMETHING: Check<HealthBody> = Check {
    cel: "(has(self.components) && size(self.components) > 0) || (has(self.scopes) && size(self.scopes) > 0)",
    member: "",
    sentence: "must name a component or a scope",
    parse: |health| (!health.components.is_empty() || !health.scopes.is_empty()).then_some(()),
};
