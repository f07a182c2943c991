//! Which pods a policy is about.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks;

/// Which pods of the policy's namespace it is about, by their labels. All parts must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::SELECTS.rule())]
pub struct Selector {
    /// Labels that a pod must have, with these values. At most 64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub match_labels: BTreeMap<String, String>,

    /// Conditions that a pod's labels must meet. At most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub match_expressions: Vec<Requirement>,
}

/// One condition on a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::VALUES.rule())]
pub struct Requirement {
    /// The label's key.
    #[schemars(length(max = 317))]
    pub key: String,

    /// How the label is compared: In (it has one of the values), NotIn (it has none of them, or is missing), Exists,
    /// DoesNotExist.
    pub operator: Operator,

    /// The values for In and NotIn, from 1 to 64; none for Exists and DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Operator {
    /// It has one of the values.
    In,
    /// It has none of them, or is missing.
    NotIn,
    /// It is there.
    Exists,
    /// It is missing.
    DoesNotExist,
}

impl Selector {
    /// Whether nothing is asked of a pod. Such a selector is refused.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether a pod with these labels is selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

impl Operator {
    /// Whether it compares with values.
    pub const fn takes_values(self) -> bool {
        match self {
            Self::In | Self::NotIn => true,
            Self::Exists | Self::DoesNotExist => false,
        }
    }
}

/// Whether `text` is a DNS label (RFC 1123): at most 63 lower-case letters, digits and inner hyphens.
pub fn is_dns_label(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| allowed(b) || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}
