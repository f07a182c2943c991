//! The pod annotation in which a controller leaves its verdict to the one that comes after it.

use serde::{Deserialize, Serialize};

/// What the annotation [`VERDICT`](super::VERDICT) holds, as JSON. Whether the pod is ready says the gate itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictAnnotation {
    /// The container ID that the verdict is about, such as `containerd://5f0c...`; absent while none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Whether that container has passed startup.
    pub started: bool,
    /// The policy's generation that the verdict was made under.
    pub generation: i64,
}

/// The annotation does not hold a verdict. It then counts as absent.
#[derive(Debug, thiserror::Error)]
#[error("the annotation probepolicy.dev/verdict holds no verdict: {0}")]
pub struct InvalidVerdict(#[from] serde_json::Error);

impl VerdictAnnotation {
    /// Reads the annotation's value. Unknown members are let through: a later version may have written it.
    pub fn parse(text: &str) -> Result<Self, InvalidVerdict> {
        Ok(serde_json::from_str(text)?)
    }
}

/// The annotation's value.
impl std::fmt::Display for VerdictAnnotation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_back_as_it_was_written() {
        for container in [None, Some("containerd://5f0c".to_owned())] {
            let verdict = VerdictAnnotation { container, started: true, generation: 7 };
            assert_eq!(VerdictAnnotation::parse(&verdict.to_string()).unwrap(), verdict);
        }
    }

    #[test]
    fn what_is_no_verdict_is_refused_and_says_which_annotation() {
        let refused = VerdictAnnotation::parse("{}").unwrap_err().to_string();
        assert!(refused.contains("probepolicy.dev/verdict") && refused.contains("started"), "{refused}");
    }
}
