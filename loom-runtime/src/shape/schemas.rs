//! The schemas of a shape file: each type once, under its name, whoever mentions it.
//! Not a resolver: a reference stays one, `#/$defs/Order` is `Order` in the table.

use serde_json::{Map, Value};

use crate::SchemaFn;

/// The types that were mentioned.
#[derive(Default)]
pub(super) struct Schemas(Map<String, Value>);

impl Schemas {
    /// A type of the program: its name when it has one and says more than a primitive does, else its schema.
    pub(super) fn mention(&mut self, schema: SchemaFn) -> Value {
        let (title, value) = self.taken_apart(schema);
        let is_primitive = !["properties", "oneOf", "anyOf", "allOf", "enum", "$ref"]
            .iter()
            .any(|key| value.get(key).is_some());
        match title {
            Some(title) if !is_primitive => self.add(&title, value).into(),
            _ => value,
        }
    }

    /// A schema in place, such as that of a step's parameters; the types that it mentions go to the table.
    pub(super) fn inline(&mut self, schema: SchemaFn) -> Value {
        self.taken_apart(schema).1
    }

    fn taken_apart(&mut self, schema: SchemaFn) -> (Option<String>, Value) {
        let mut value = schema().as_value().clone();
        let Some(object) = value.as_object_mut() else { return (None, value) };
        // The dialect is the same in all of them.
        object.remove("$schema");
        let title = object.remove("title").and_then(|title| title.as_str().map(str::to_owned));
        let Some(Value::Object(types)) = object.remove("$defs") else { return (title, value) };
        let mut renamed = Vec::new();
        for (name, defined) in types {
            let taken = self.add(&name, defined);
            if taken != name {
                renamed.push((reference(&name), reference(&taken)));
            }
        }
        for (from, to) in renamed {
            redirect(&mut value, &from, &to);
        }
        (title, value)
    }

    /// The table.
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Two types may have one name; the second gets a number.
    fn add(&mut self, name: &str, schema: Value) -> String {
        let numbered = (2..).map(|n| format!("{name} {n}"));
        let free = std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| self.0.get(name).is_none_or(|known| *known == schema))
            .unwrap_or_default();
        self.0.insert(free.clone(), schema);
        free
    }
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

fn redirect(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(target) if key == "$ref" && target == from => *target = to.to_owned(),
                    value => redirect(value, from, to),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, from, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};
    use serde_json::json;

    use super::*;

    mod other {
        /// Another order.
        #[derive(schemars::JsonSchema)]
        pub(super) struct Line(#[expect(dead_code, reason = "only its schema counts")] u8);
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Line {
        sku: String,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Order {
        lines: Vec<Line>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Box {
        content: Option<other::Line>,
    }

    #[test]
    fn every_type_is_there_once() {
        let mut schemas = Schemas::default();
        assert_eq!(schemas.mention(|| schema_for!(Order)), json!("Order"));
        assert_eq!(schemas.mention(|| schema_for!(Line)), json!("Line"));
        assert_eq!(schemas.mention(|| schema_for!(u8))["type"], "integer");
        assert_eq!(schemas.mention(|| schema_for!(Order)), json!("Order"));
        assert_eq!(schemas.0.keys().collect::<Vec<_>>(), ["Line", "Order"]);
    }

    #[test]
    fn two_types_of_one_name_are_two() {
        let mut schemas = Schemas::default();
        schemas.mention(|| schema_for!(Order));
        schemas.mention(|| schema_for!(Box));
        assert_eq!(schemas.0["Order"]["properties"]["lines"]["items"]["$ref"], "#/$defs/Line");
        let content = &schemas.0["Box"]["properties"]["content"];
        assert_eq!(content["anyOf"][0]["$ref"], "#/$defs/Line 2");
    }
}
