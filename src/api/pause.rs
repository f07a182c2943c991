//! The annotations by which people pause a pod, or a policy with all its pods.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;

use super::SpecError;

/// The pod or policy annotation that says until when it is paused: an instant in RFC 3339.
pub const PAUSED_UNTIL: &str = "probepolicy.dev/paused-until";

/// The annotation beside it that says why, for other people.
pub const PAUSED_REASON: &str = "probepolicy.dev/paused-reason";

/// So many characters of a reason are told.
const TOLD: usize = 200;

/// What somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseNote {
    /// Until when; a time that is over is as if nothing had been asked for.
    pub until: Timestamp,
    /// Why, in the words of whoever asked, of which the first 200 characters are kept.
    pub reason: Option<String>,
}

impl PauseNote {
    /// The pause that an object's annotations ask for, if they do.
    ///
    /// # Errors
    /// If until when is not an instant, or a reason stands there alone. Then nothing is paused.
    pub fn of(metadata: &ObjectMeta) -> Result<Option<Self>, SpecError> {
        let annotation = |name| metadata.annotations.as_ref().and_then(|annotations| annotations.get(name));
        let refuse = |sentence: &str| SpecError {
            path: format!("metadata.annotations[{PAUSED_UNTIL}]"),
            sentence: sentence.to_owned(),
        };
        let reason = annotation(PAUSED_REASON).map(|reason| reason.chars().take(TOLD).collect());
        match (annotation(PAUSED_UNTIL), reason) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(refuse("must be there beside probepolicy.dev/paused-reason: no pause is for ever")),
            (Some(until), reason) => match until.parse() {
                Ok(until) => Ok(Some(Self { until, reason })),
                Err(_) => Err(refuse("must be an instant such as 2026-01-02T15:04:05Z")),
            },
        }
    }
}

/// Until when, and why if that was said.
impl std::fmt::Display for PauseNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "until {}", self.until)?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(annotations: &[(&str, &str)]) -> Result<Option<PauseNote>, SpecError> {
        let annotations = annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        PauseNote::of(&ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() })
    }

    #[test]
    fn a_pause_says_until_when_and_why() {
        let told = |annotations: &[_]| note(annotations).unwrap().unwrap().to_string();
        let until = (PAUSED_UNTIL, "2026-01-02T15:04:05Z");
        assert_eq!(told(&[until]), "until 2026-01-02T15:04:05Z");
        assert_eq!(told(&[until, (PAUSED_REASON, "heap dump")]), "until 2026-01-02T15:04:05Z (heap dump)");
        assert_eq!(note(&[]), Ok(None));
    }

    #[test]
    fn a_pause_without_an_instant_is_refused_and_never_for_ever() {
        for annotations in [&[(PAUSED_UNTIL, "tomorrow")], &[(PAUSED_UNTIL, "")], &[(PAUSED_REASON, "heap dump")]] {
            let refused = note(annotations).unwrap_err();
            assert_eq!(refused.path, "metadata.annotations[probepolicy.dev/paused-until]");
        }
    }
}
