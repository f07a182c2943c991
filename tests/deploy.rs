//! The manifests agree with the crate, with the lesson and with one another.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the manifests has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

#[test]
fn the_lesson_on_a_cluster_runs_the_scenario_of_the_repository() {
    let script = root().join("deploy/lesson/01-script.yaml");
    let scenario = fs::read_to_string(root().join("lessons/replicas/scenario.yaml")).unwrap();
    let indented: String = scenario.lines().map(|line| format!("    {line}\n")).collect();
    let expected = format!(
        "# Made of lessons/replicas/scenario.yaml by `just crds`.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: script\n  namespace: lesson\ndata:\n  scenario.yaml: |\n{indented}"
    );
    if std::env::var_os("BLESS").is_some() {
        fs::write(&script, &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(&script).unwrap(), expected, "run `just crds`");
    assert_eq!(documents(&script)[0]["data"]["scenario.yaml"], Value::String(scenario));
}

#[test]
fn images_carry_the_version_of_the_crate_wherever_they_are_named() {
    let mut files = manifests();
    files.extend(["Dockerfile", ".github/workflows/e2e.yaml"].map(|path| root().join(path)));
    let mut images = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for image in text.split_whitespace().filter(|word| word.starts_with("localhost/")) {
            let tag = format!(":{}", env!("CARGO_PKG_VERSION"));
            assert!(image.ends_with(&tag), "{image} in {}", file.display());
            images += 1;
        }
    }
    assert!(images >= 8, "only {images} found: the controller twice, the fake app, the load, and twice both to build");
}

#[test]
fn the_install_in_one_namespace_asks_for_the_same_rights_without_nodes() {
    let role = find("deploy/namespaced/rbac.yaml", "Role");
    let mut expected = find("deploy/02-rbac.yaml", "ClusterRole")["rules"].as_array().unwrap().clone();
    for rule in &mut expected {
        rule["resources"].as_array_mut().unwrap().retain(|resource| resource != "nodes");
    }
    expected.extend(find("deploy/02-rbac.yaml", "Role")["rules"].as_array().unwrap().clone());
    assert_eq!(role["rules"], Value::Array(expected));
}

#[test]
fn the_install_in_one_namespace_runs_the_same_pods_under_another_account() {
    let mut spec = find("deploy/namespaced/controller.yaml", "Deployment")["spec"].clone();
    let pod = &mut spec["template"]["spec"];
    pod["serviceAccountName"] = "controller".into();
    let container = &mut pod["containers"][0];
    assert_eq!(container["args"].as_array_mut().unwrap().pop().unwrap(), "--namespace=$(POD_NAMESPACE)");
    assert_eq!(container["env"].as_array_mut().unwrap().pop().unwrap()["name"], "POD_NAMESPACE");
    assert_eq!(spec, find("deploy/04-controller.yaml", "Deployment")["spec"]);
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every manifest.
fn manifests() -> Vec<PathBuf> {
    ["deploy", "deploy/lesson", "deploy/namespaced"]
        .into_iter()
        .flat_map(|directory| fs::read_dir(root().join(directory)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect()
}

/// The one object of this kind in a manifest.
fn find(path: &str, kind: &str) -> Value {
    let found: Vec<Value> = documents(&root().join(path)).into_iter().filter(|it| it["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind} in {path}");
    found[0].clone()
}

fn documents(path: &Path) -> Vec<Value> {
    serde_yaml::from_multiple(&fs::read_to_string(path).unwrap()).unwrap()
}
