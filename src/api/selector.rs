//! Which pods a policy is about.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Labels, checks};

/// Which pods of the policy's namespace it is about, by their labels. All parts must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::SELECTS.rule())]
pub struct Selector {
    /// Labels that a pod must have, with these values. At most 64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = checks::LABELS.rule())]
    pub match_labels: BTreeMap<String, String>,

    /// Conditions that a pod's labels must meet. At most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub match_expressions: Vec<Requirement>,
}

/// One condition on a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[x_kube(validation = checks::VALUES_FIT.rule())]
pub struct Requirement {
    /// The label's key.
    #[schemars(length(max = 317))]
    #[x_kube(validation = checks::KEY.rule())]
    pub key: String,

    /// How the label is compared: In (it has one of the values), NotIn (it has none of them, or is missing), Exists,
    /// DoesNotExist.
    pub operator: Operator,

    /// The values for In and NotIn, from 1 to 64; none for Exists and DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
    #[x_kube(validation = checks::VALUES.rule())]
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
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let listed = value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector: Selector = serde_json::from_str(selector).unwrap();
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        selector.matches(&labels.iter().map(owned).collect::<BTreeMap<_, _>>().into())
    }

    #[test]
    fn every_label_and_every_expression_must_match() {
        let both = r#"{"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}"#;
        assert!(selects(both, &[("app", "a"), ("tier", "1"), ("other", "x")]));
        assert!(!selects(both, &[("app", "a")]));
        assert!(!selects(both, &[("app", "b"), ("tier", "1")]));
    }

    #[test]
    fn an_operator_compares_as_kubernetes_does() {
        for (operator, listed, unlisted, missing) in [
            (r#""In", "values": ["a", "b"]"#, true, false, false),
            (r#""NotIn", "values": ["a", "b"]"#, false, true, true),
            (r#""Exists""#, true, true, false),
            (r#""DoesNotExist""#, false, false, true),
        ] {
            let selector = format!(r#"{{"matchExpressions": [{{"key": "app", "operator": {operator}}}]}}"#);
            assert_eq!(selects(&selector, &[("app", "b")]), listed, "{selector}");
            assert_eq!(selects(&selector, &[("app", "c")]), unlisted, "{selector}");
            assert_eq!(selects(&selector, &[("other", "a")]), missing, "{selector}");
        }
    }
}
