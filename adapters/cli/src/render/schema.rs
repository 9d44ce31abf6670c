//! JSON Schemas in one line: what is expected, and a value to begin with.
//! Not a validator, and not exact: `schema` prints the whole one.

use serde_json::{Map, Value, json};

/// How deep a hint goes.
const DEPTH: usize = 3;

/// What the schema expects, such as `{"approved": boolean, "note"?: string}`.
pub(crate) fn hint(schema: &Value) -> String {
    describe(schema, schema, DEPTH)
}

/// A value of the right shape, to be edited.
pub(crate) fn sample(schema: &Value) -> Value {
    example(schema, schema, DEPTH)
}

fn describe(root: &Value, schema: &Value, depth: usize) -> String {
    let Some(schema) = resolved(root, schema).as_object() else { return "any JSON".into() };
    if depth == 0 {
        return "…".into();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return either(values.iter().map(Value::to_string));
    }
    if let Some(options) = options(schema) {
        return either(options.iter().map(|option| describe(root, option, depth)));
    }
    let kinds = kinds(schema);
    if kinds.is_empty() {
        return if schema.contains_key("properties") {
            object(root, schema, depth)
        } else {
            "any JSON".into()
        };
    }
    either(kinds.iter().map(|kind| match *kind {
        "object" => object(root, schema, depth),
        "array" => match schema.get("items") {
            Some(items) => format!("[{}, …]", describe(root, items, depth - 1)),
            None => "array".into(),
        },
        other => other.into(),
    }))
}

fn object(root: &Value, schema: &Map<String, Value>, depth: usize) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "object".into();
    };
    let required = required(schema);
    let properties = properties.iter().map(|(name, property)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{}{mark}: {}", Value::from(name.as_str()), describe(root, property, depth - 1))
    });
    format!("{{{}}}", properties.collect::<Vec<_>>().join(", "))
}

fn example(root: &Value, schema: &Value, depth: usize) -> Value {
    let Some(schema) = resolved(root, schema).as_object() else { return Value::Null };
    if depth == 0 {
        return Value::Null;
    }
    let listed = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first());
    if let Some(value) = schema.get("const").or(listed).or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(option) = options(schema).and_then(|options| options.first()) {
        return example(root, option, depth);
    }
    match kinds(schema).first().copied() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("string") => json!("…"),
        Some("array") => json!([]),
        Some("object") | None => {
            let required = required(schema);
            let properties = schema.get("properties").and_then(Value::as_object);
            let wanted =
                properties.into_iter().flatten().filter(|(name, _)| required.contains(&name.as_str()));
            let mut object = Map::new();
            object.extend(wanted.map(|(name, property)| (name.clone(), example(root, property, depth - 1))));
            if object.is_empty() && properties.is_none() && kinds(schema).is_empty() {
                Value::Null
            } else {
                Value::Object(object)
            }
        }
        Some(_) => Value::Null,
    }
}

/// The schema that a `$ref` within the same document names.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    // A reference to itself would never end.
    for _ in 0..16 {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        match reference.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

fn options(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

fn kinds(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn required(schema: &Map<String, Value>) -> Vec<&str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn either(options: impl Iterator<Item = String>) -> String {
    options.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_short_and_samples_fit() {
        let schema = json!({
            "type": "object", "required": ["approved", "level"],
            "properties": {
                "approved": {"type": "boolean"},
                "level": {"$ref": "#/$defs/Level"},
                "note": {"type": ["string", "null"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "$defs": {"Level": {"enum": ["low", "high"]}},
        });
        assert_eq!(
            hint(&schema),
            r#"{"approved": boolean, "level": "low" | "high", "note"?: string | null, "tags"?: [string, …]}"#
        );
        assert_eq!(sample(&schema), json!({"approved": true, "level": "low"}));
        assert_eq!((hint(&json!(true)), sample(&json!(true))), ("any JSON".into(), Value::Null));
        assert_eq!(hint(&json!({"$ref": "#"})), "any JSON");
        assert_eq!(sample(&json!({"type": "integer", "minimum": 3})), json!(3));
    }
}
