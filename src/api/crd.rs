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
        drop_unsigned_formats(root);
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
fn drop_unsigned_formats(schema: &mut JSONSchemaProps) {
    if schema.format.as_ref().is_some_and(|format| format.starts_with("uint")) {
        schema.format = None;
    }
    schema.properties.iter_mut().flat_map(|members| members.values_mut()).for_each(drop_unsigned_formats);
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => drop_unsigned_formats(items),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(drop_unsigned_formats),
        None => {}
    }
    match &mut schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(values)) => drop_unsigned_formats(values),
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => {}
    }
}
