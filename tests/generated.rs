//! The generated files are those that the types make.

use std::path::Path;

use probe_policy::api::{crd, crd_yaml};

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
fn every_field_is_explained() {
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
