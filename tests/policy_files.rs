//! What a policy file may say, without a cluster. `crd_server` asks a real API server the same.

mod policies;

use policies::{good, malformed, manifest, nonsense};
use probe_policy::api::yaml::{ContentError, YamlError};
use probe_policy::api::{ProbePolicy, policy_from_str};

fn read(text: &str) -> Result<ProbePolicy, Box<ContentError>> {
    policy_from_str("policy.yaml", text).map_err(|error| match error {
        YamlError::Content(content) => content,
        YamlError::Io { .. } | YamlError::TooLarge { .. } => panic!("{error}"),
    })
}

#[test]
fn good_policies_are_taken() {
    for spec in good() {
        assert!(read(&manifest(&spec)).is_ok(), "{spec}: {}", read(&manifest(&spec)).unwrap_err());
    }
}

#[test]
fn nonsense_is_refused_with_field_line_and_sentence() {
    for refused in nonsense() {
        let error = read(&manifest(&refused.spec)).expect_err(&refused.spec);
        assert!(error.sentence.contains(refused.sentence), "{}: {error}", refused.spec);
        assert_eq!(error.path, refused.path, "{}", refused.spec);
        assert_eq!(error.place.map(|place| place.line), Some(4), "{}", refused.spec);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_the_field() {
    for (spec, field) in malformed() {
        let error = read(&manifest(&spec)).expect_err(&spec);
        assert!(error.path.contains(field) || error.sentence.contains(field), "{spec}: {error}");
        assert_eq!(error.place.as_ref().map(|place| place.line), Some(4), "{spec}: {error}");
    }
}

#[test]
fn a_pasted_field_is_answered_with_the_line_to_write() {
    let text =
        manifest("\n  selector: {matchLabels: {app: a}}\n  liveness:\n    tcpSocket: {port: 80}\n    periodSeconds: 5");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "policy.yaml:8:20: spec.liveness.periodSeconds: is written `period: 5s` here\n      periodSeconds: 5\n                     ^",
    );
}

#[test]
fn an_error_points_at_the_value() {
    let text = manifest("\n  selector: {matchLabels: {app: a}}\n  restart:\n    backoff: {initial: 1h}");
    let error = read(&text).unwrap_err();
    let place = error.place.clone().unwrap();
    assert_eq!((place.line, place.column), (7, 24), "{error}");
}

#[test]
fn an_error_about_a_default_points_at_what_surrounds_it() {
    let text = manifest("\n  selector: {matchLabels: {app: a}}\n  restart:\n    backoff: {max: 1s}");
    let error = read(&text).unwrap_err();
    assert_eq!(error.path, "spec.restart.backoff.initial");
    assert_eq!(error.place.unwrap().line, 7);
}

#[test]
fn a_file_is_not_half_read() {
    let good = manifest("{selector: {matchLabels: {app: a}}}");
    let error = read(&format!("{good}---\n{good}")).unwrap_err();
    assert!(error.sentence.contains("second document"), "{error}");
    assert_eq!(error.place.unwrap().line, 6);
}

#[test]
fn what_is_no_policy_is_refused() {
    for (text, part) in [
        ("", "file ends"),
        ("[]", "must be a mapping of names to values"),
        ("a: [", "unclosed"),
        ("kind: ProbePolicy", "missing field"),
        ("{kind: ProbePolicy, kind: ProbePolicy}", "`kind` is here for the second time"),
        ("{apiVersion: v1, kind: ProbePolicy, metadata: {}, spec: {}}", "unknown variant `v1`"),
        ("{apiVersion: probepolicy.dev/v1alpha1, kind: Pod, metadata: {}, spec: {}}", "unknown variant `Pod`"),
        ("{apiVersion: probepolicy.dev/v1alpha1, kind: ProbePolicy, metadata: {}, specs: {}}", "unknown field `specs`"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.to_string().contains(part), "{text:?}: {error}");
    }
}

#[test]
fn the_annotation_that_aligns_attempts_must_hold_an_instant() {
    let annotated = |instant: &str| {
        manifest("{selector: {matchLabels: {app: a}}}").replace(
            "name: example",
            &format!("name: example, annotations: {{probepolicy.dev/aligned-to: '{instant}'}}"),
        )
    };
    assert!(read(&annotated("2026-01-02T15:04:05.25Z")).is_ok());
    let error = read(&annotated("soon")).unwrap_err();
    assert_eq!(error.path, "metadata.annotations[probepolicy.dev/aligned-to]");
    assert_eq!(error.place.unwrap().line, 3);
}
