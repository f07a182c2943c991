//! The names that other programs see: the gate, the annotations, the field manager.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;

use super::SpecError;

/// The pod readiness gate, which is also the type of the pod condition that we write.
pub const GATE: &str = "probepolicy.dev/ready";

/// The pod annotation that holds a [`VerdictAnnotation`](super::VerdictAnnotation).
pub const VERDICT: &str = "probepolicy.dev/verdict";

/// The policy annotation that puts all attempts on multiples of the period, counted from its instant
/// (RFC 3339, fractions allowed). For measuring: in production attempts are spread.
pub const ALIGNED_TO: &str = "probepolicy.dev/aligned-to";

/// The label of the Leases whose renewals are beats, whatever its value. Each bears the name of its pod.
pub const HEARTBEAT: &str = "probepolicy.dev/heartbeat";

/// The path at which controllers take beats over HTTP: `POST` says that a pod is there, `DELETE` that it goes.
pub const BEATS: &str = "/beat";

/// The audience of the token by which a pod says so.
pub const BEATS_AUDIENCE: &str = "probepolicy.dev";

/// The annotation of our EndpointSlices that names the policy whose pool they are.
pub const SLICE_OF: &str = "probepolicy.dev/policy";

/// Who manages our EndpointSlices, by the label `endpointslice.kubernetes.io/managed-by`.
pub const SLICE_MANAGER: &str = "probepolicy.dev";

/// Who we are: field manager of what we apply, reporting controller of our events.
pub const CONTROLLER: &str = "probepolicy.dev/controller";

/// The instant that the annotation [`ALIGNED_TO`] asks for, if it is there.
pub fn aligned_to(metadata: &ObjectMeta) -> Result<Option<Timestamp>, SpecError> {
    let Some(text) = metadata.annotations.as_ref().and_then(|annotations| annotations.get(ALIGNED_TO)) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| SpecError {
        path: format!("metadata.annotations[{ALIGNED_TO}]"),
        sentence: "must be an instant such as 2026-01-02T15:04:05.250Z".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn attempts_are_aligned_only_to_an_instant() {
        let annotated = |text: &str| ObjectMeta {
            annotations: Some(BTreeMap::from([(ALIGNED_TO.to_owned(), text.to_owned())])),
            ..ObjectMeta::default()
        };
        assert_eq!(aligned_to(&ObjectMeta::default()), Ok(None));
        let instant = aligned_to(&annotated("2026-01-02T15:04:05.25Z")).unwrap().unwrap();
        assert_eq!(instant.as_millisecond() % 1000, 250);
        let refused = aligned_to(&annotated("now")).unwrap_err();
        assert_eq!(refused.path, "metadata.annotations[probepolicy.dev/aligned-to]");
    }
}
