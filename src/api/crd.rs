//! The CustomResourceDefinition, as it stands in `crds/` and `deploy/`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::{ProbePolicy, yaml};

/// The definition that the API server is given: the one derived from the types, and what the derive cannot say.
pub fn crd() -> CustomResourceDefinition {
    let mut crd = ProbePolicy::crd();
    for version in &mut crd.spec.versions {
        let Some(root) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) else {
            continue;
        };
        each(root, &mut |schema| {
            drop_unsigned_format(schema);
            unwrap_description(schema);
        });
        if let Some(selector) = member(root, "spec").and_then(|spec| member(spec, "selector")) {
            // One owner for the whole selector: merged from two, it would select what nobody asked for.
            selector.x_kubernetes_map_type = Some("atomic".to_owned());
        }
    }
    crd
}

/// The same as the text of a manifest.
pub fn crd_yaml() -> Result<String, yaml::WriteError> {
    let text = yaml::to_string(&crd())?;
    Ok(format!("# Generated from src/api by `probe-policy crd`. Do not edit.\n{text}"))
}

fn member<'a>(schema: &'a mut JSONSchemaProps, name: &str) -> Option<&'a mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut(name)
}

/// Unsigned formats are none of OpenAPI's: newer API servers warn of them on every apply.
fn drop_unsigned_format(schema: &mut JSONSchemaProps) {
    schema.format.take_if(|format| format.starts_with("uint"));
}

/// Descriptions are wrapped where the source is; a reader's terminal wraps them elsewhere.
fn unwrap_description(schema: &mut JSONSchemaProps) {
    schema.description = schema.description.take().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
}

/// Shows a schema and all that it is made of to `change`.
fn each(schema: &mut JSONSchemaProps, change: &mut impl FnMut(&mut JSONSchemaProps)) {
    change(schema);
    for member in schema.properties.iter_mut().flat_map(|members| members.values_mut()) {
        each(member, change);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => each(items, change),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(|item| each(item, change)),
        None => {}
    }
    match &mut schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => each(values, change),
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => {}
    }
}
