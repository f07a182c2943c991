//! The command line as a user runs it: what it prints and the code it ends with.
#![expect(clippy::unwrap_used, reason = "a test that cannot run the program has failed")]

use assert_cmd::Command;

const NO_CLUSTER: &str = "
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {}}]
current-context: none
";

#[test]
fn crd_prints_the_file_in_the_tree_byte_for_byte() {
    let printed = program().arg("crd").assert().success().get_output().stdout.clone();
    assert_eq!(printed, include_bytes!("../crds/probepolicies.yaml"));
}

#[test]
fn a_bad_policy_ends_with_2_and_one_sentence_that_names_file_line_and_column() {
    let folder = folder("bad-policy");
    let file = folder.join("policy.yaml");
    let policy = "apiVersion: probepolicy.dev/v1alpha1
kind: ProbePolicy
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  liveness: {httpGet: {port: http}, period: 0s}
";
    std::fs::write(&file, policy).unwrap();
    let refused = program().arg("validate").arg(&file).assert().code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("policy.yaml:6:45") || said.contains("line 6"), "{said}");
    assert!(said.contains("spec.liveness.period"), "{said}");
}

#[test]
fn lease_durations_with_which_two_could_act_at_once_end_with_2() {
    let refused = program().args(["controller", "--lease-renew-deadline", "15s"]).assert().code(2);
    let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(said.contains("must be at least 2s shorter than the lease duration (15s)"), "{said}");
}

#[test]
fn releasing_asks_to_say_all_and_without_a_cluster_ends_with_1() {
    program().arg("release").assert().code(2);
    let config = folder("no-cluster").join("config");
    std::fs::write(&config, NO_CLUSTER).unwrap();
    let failed = program().args(["release", "--all"]).env("KUBECONFIG", &config).assert().code(1);
    let said = String::from_utf8(failed.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("error: cannot list pods"), "{said}");
}

fn program() -> Command {
    Command::cargo_bin("probe-policy").unwrap()
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
