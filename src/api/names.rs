//! The names that other programs see: the gate, the annotations, the field manager.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;

/// The pod readiness gate, which is also the type of the pod condition that we write.
pub const GATE: &str = "probepolicy.dev/ready";

/// The pod annotation that holds a [`VerdictAnnotation`](super::VerdictAnnotation).
pub const VERDICT: &str = "probepolicy.dev/verdict";

/// The policy annotation that puts all attempts on multiples of the period, counted from its instant
/// (RFC 3339, fractions allowed). For measuring: in production attempts are spread.
pub const ALIGNED_TO: &str = "probepolicy.dev/aligned-to";

/// Who we are: field manager of what we apply, reporting controller of our events.
pub const CONTROLLER: &str = "probepolicy.dev/controller";

/// The annotation [`ALIGNED_TO`] holds no instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("metadata.annotations[{ALIGNED_TO}]: must be an instant such as 2026-01-02T15:04:05.250Z, not {0:?}")]
pub struct InvalidTime(String);

/// The instant that the annotation [`ALIGNED_TO`] asks for, if it is there.
pub fn aligned_to(annotations: &BTreeMap<String, String>) -> Result<Option<Timestamp>, InvalidTime> {
    let Some(text) = annotations.get(ALIGNED_TO) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| InvalidTime(text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_aligned_only_to_an_instant() {
        let annotated = |text: &str| BTreeMap::from([(ALIGNED_TO.to_owned(), text.to_owned())]);
        assert_eq!(aligned_to(&BTreeMap::new()), Ok(None));
        let instant = aligned_to(&annotated("2026-01-02T15:04:05.25Z")).unwrap().unwrap();
        assert_eq!(instant.as_millisecond() % 1000, 250);
        let refused = aligned_to(&annotated("now")).unwrap_err().to_string();
        assert!(refused.contains("probepolicy.dev/aligned-to") && refused.contains("\"now\""), "{refused}");
    }
}
