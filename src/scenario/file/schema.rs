//! The JSON Schema of a scenario file, for editors that complete and check while people write.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::Value;

use super::ScenarioFile;

/// The JSON Schema (2020-12) of a scenario file. What it refuses is refused by [`ScenarioFile::check`] too; what depends
/// on other fields, such as whether a turn exists, only the latter knows.
pub fn json_schema() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<ScenarioFile>();
    RecursiveTransform(tidy).transform(&mut schema);
    schema
}

fn tidy(schema: &mut Schema) {
    drop_null(schema);
    say_format_of_numbers(schema);
    unwrap_description(schema);
}

/// A field that may be left out may also be null, but nobody is to be told so.
fn drop_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            schema.remove("anyOf");
            for (name, value) in only {
                if name != "description" {
                    schema.insert(name, value);
                }
            }
        }
    }
}

/// Rust's names of numbers say nothing to an editor, but the greatest of them does.
fn say_format_of_numbers(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str) == Some("uint32") {
        schema.remove("format");
        if schema.get("maximum").is_none() {
            schema.insert("maximum".to_owned(), u32::MAX.into());
        }
    }
}

/// Descriptions are wrapped where the source is; an editor wraps them elsewhere.
fn unwrap_description(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}
