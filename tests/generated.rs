//! The generated files are those that the types make.

use std::path::Path;

use probe_policy::api::{crd, crd_yaml};
use probe_policy::scenario;
use serde_json::Value;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

#[test]
fn the_crd_in_the_tree_is_the_one_that_the_types_make() {
    let made = crd_yaml().unwrap();
    for file in ["crds/probepolicies.yaml", "deploy/01-crd.yaml"] {
        let stored = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
        assert!(stored == made, "{file} is stale. Make it anew: just crds (or cargo run -- crd > {file})");
    }
}

#[test]
fn the_schema_of_scenarios_in_the_tree_is_the_one_that_the_types_make() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/scenario.json");
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    let made = format!("{:#}\n", scenario::json_schema().as_value());
    assert!(stored == made, "schemas/scenario.json is stale. Make it anew: just crds");
}

#[test]
fn every_field_of_a_scenario_is_explained() {
    let mut fields = Vec::new();
    collect_json("", scenario::json_schema().as_value(), &mut fields);
    assert!(fields.len() > 40, "{fields:?}");
    for (path, description) in fields {
        assert!(description.len() > 10 && !description.contains('\n'), "{path}: {description:?}");
    }
}

#[test]
fn every_field_of_a_policy_is_explained() {
    let crd = crd();
    let root = crd.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
    let mut fields = Vec::new();
    collect("", &root, &mut fields);
    assert!(fields.len() > 80, "{fields:?}");
    for (path, description) in fields {
        assert!(description.len() > 10 && !description.contains('\n'), "{path}: {description:?}");
    }
}

fn collect(path: &str, schema: &JSONSchemaProps, fields: &mut Vec<(String, String)>) {
    for (name, member) in schema.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        fields.push((path.clone(), member.description.clone().unwrap_or_default()));
        collect(&path, member, fields);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        collect(&format!("{path}[]"), items, fields);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &schema.additional_properties {
        collect(&format!("{path}{{}}"), values, fields);
    }
}

fn collect_json(path: &str, schema: &Value, fields: &mut Vec<(String, String)>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        fields.push((path.clone(), member["description"].as_str().unwrap_or_default().to_owned()));
        collect_json(&path, member, fields);
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        collect_json(path, choice, fields);
    }
    if schema["items"].is_object() {
        collect_json(&format!("{path}[]"), &schema["items"], fields);
    }
}
