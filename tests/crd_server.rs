//! What a real API server makes of the CRD. `policy_files` asks the same without one.
#![expect(clippy::unwrap_used, reason = "a test that cannot run kubectl has failed")]

mod policies;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use policies::{Refused, good, malformed, manifest, nonsense};
use probe_policy::api::yaml::YamlError;
use probe_policy::api::{ProbePolicySpec, policy_from_str};
use serde_json::{Value, json};

/// Runs kubectl with `input` on its standard input.
fn kubectl(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new("kubectl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl is on the PATH");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn run(arguments: &[&str], input: &str) -> String {
    let output = kubectl(arguments, input);
    assert!(output.status.success(), "kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refusal(spec: &str) -> String {
    let output = kubectl(&["apply", "--dry-run=server", "-f", "-"], &manifest(spec));
    assert!(!output.status.success(), "{spec} was taken");
    String::from_utf8(output.stderr).unwrap()
}

/// Installs the CRD, and leaves it there: others may use it.
fn install() {
    run(&["apply", "--server-side", "--force-conflicts", "-f", "crds/probepolicies.yaml"], "");
    run(&["wait", "--for=condition=Established", "--timeout=60s", "crd/probepolicies.probepolicy.dev"], "");
}

#[test]
#[ignore = "needs a cluster"]
fn nonsense_is_refused_with_the_sentence_that_is_said_offline() {
    install();
    for Refused { spec, path, sentence } in nonsense() {
        let Err(YamlError::Content(offline)) = policy_from_str("", &manifest(&spec)) else { panic!("{spec}") };
        assert!(offline.sentence.contains(sentence), "{spec}: {offline}");
        let said = refusal(&spec);
        let same = |line: &str| line.contains(&format!("{path}: Invalid value: ")) && line.ends_with(&offline.sentence);
        assert!(said.lines().any(same), "{spec}: {said}");
    }
}

#[test]
#[ignore = "needs a cluster"]
fn what_cannot_be_read_is_refused_with_the_field() {
    install();
    for (spec, field) in malformed() {
        let said = refusal(&spec);
        assert!(said.contains(field), "{spec}: {said}");
    }
}

#[test]
#[ignore = "needs a cluster"]
fn good_policies_are_taken_and_mean_what_they_mean_offline() {
    install();
    let manifests: Vec<String> = good().iter().map(|spec| manifest(spec)).collect();
    let stored = run(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], &manifests.join("---\n"));
    let stored: Value = serde_json::from_str(&stored).unwrap();
    let stored = stored["items"].as_array().unwrap();
    assert_eq!(stored.len(), manifests.len());
    for (stored, manifest) in stored.iter().zip(&manifests) {
        let online: ProbePolicySpec = serde_json::from_value(stored["spec"].clone()).unwrap();
        assert_eq!(online, policy_from_str("", manifest).unwrap().spec, "{manifest}");
    }
}

#[test]
#[ignore = "needs a cluster"]
fn the_server_fills_in_the_defaults_that_are_assumed_offline() {
    install();
    let text = manifest("{selector: {matchLabels: {app: a}}, liveness: {httpGet: {port: 1}}}");
    let stored: Value =
        serde_json::from_str(&run(&["apply", "--dry-run=server", "-o", "json", "-f", "-"], &text)).unwrap();
    assert_eq!(stored["spec"], json!(policy_from_str("", &text).unwrap().spec));
}

#[test]
#[ignore = "needs a cluster"]
fn a_selector_is_replaced_as_a_whole() {
    install();
    let namespace = &format!("crd-server-{}", std::process::id());
    run(&["create", "namespace", namespace], "");
    let apply = ["apply", "--server-side", "-n", namespace, "-f", "-"];
    run(&apply, &manifest("{selector: {matchLabels: {app: a}}}"));
    run(&apply, &manifest("{selector: {matchExpressions: [{key: app, operator: Exists}]}}"));
    run(
        &[&apply[..], &["--field-manager=other", "--force-conflicts"]].concat(),
        &manifest("{selector: {matchLabels: {app: b}}}"),
    );
    let stored = run(&["get", "-n", namespace, "probepolicy", "example", "-o", "jsonpath={.spec.selector}"], "");
    run(&["delete", "namespace", namespace, "--wait=false"], "");
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), json!({"matchLabels": {"app": "b"}}));
}

#[test]
#[ignore = "needs a cluster"]
fn fields_are_explained() {
    install();
    for (field, part) in [
        ("spec.selector", "an empty selector is refused"),
        ("spec.liveness.period", "Default 10s"),
        ("spec.restart.maxConcurrent", "percentage"),
        ("status.seats.intent.time", "decided"),
    ] {
        // The server publishes its schemas a moment after the CRD is established.
        assert!((0..200).any(|_| explanation(field).contains(part)), "{field}: {}", explanation(field));
    }
}

/// What `kubectl explain` says, on one line.
fn explanation(field: &str) -> String {
    let output = kubectl(&["explain", &format!("probepolicies.{field}")], "");
    String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}
