//! The service's descriptions, made from the table of verbs: OpenAPI 3.1 for REST, OpenRPC for JSON-RPC.
//! Not written by hand, so that neither can say what the routes do not do.

use std::collections::BTreeMap;

use loom_runtime::Registry;
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    OTHERS,
    route::{Route, VERBS},
};
use crate::{ABI, Code};

/// How every route refuses.
const EVERYWHERE: [Code; 5] =
    [Code::InvalidArguments, Code::Unauthorized, Code::Forbidden, Code::StoreUnavailable, Code::StoreDamaged];

/// How every route with a body refuses.
const WITH_BODY: [Code; 4] =
    [Code::InvalidRequest, Code::PayloadTooLarge, Code::UnsupportedMediaType, Code::RequestTimeout];

/// The OpenAPI description.
pub(super) fn openapi(registry: &Registry) -> Value {
    let mut generator = generator();
    let mut paths = BTreeMap::<&str, Map<String, Value>>::new();
    for route in &VERBS {
        let operation = operation(route, &mut generator);
        paths.entry(route.path).or_default().insert(route.method.name().into(), operation);
    }
    for other in &OTHERS {
        paths.entry(other.path).or_default().insert(other.method.name().into(), other.described());
    }
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let mut inputs = Map::new();
    for flow in registry.flows() {
        let name = format!("flow.{}.input", plain(flow.name));
        component(&name, flow.input.schema(), &mut schemas);
        inputs.insert(flow.name.into(), reference(&name));
    }
    schemas.insert("Problem".into(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Loom",
            "version": ABI,
            "description": "The host side of a Loom program. Inputs of its flows are in `x-loom-flows`.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "x-loom-flows": inputs,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// The OpenRPC description.
pub(super) fn openrpc() -> Value {
    let mut generator = generator();
    let methods: Vec<_> = VERBS
        .iter()
        .map(|route| {
            let args = Args::of(route);
            let params: Vec<_> = args.properties.iter().map(|(name, schema)| {
                json!({"name": name, "required": args.required.contains(name), "schema": schema})
            }).collect();
            let errors: Vec<_> = EVERYWHERE.iter().chain(route.codes).map(|code| {
                json!({"code": code.rpc(), "message": code.meaning()})
            }).collect();
            let result = json!({"name": "result", "schema": (route.answer)(&mut generator)});
            json!({
                "name": format!("loom.{}", route.name), "summary": args.summary(), "paramStructure": "by-name",
                "params": params, "result": result, "errors": errors,
            })
        })
        .collect();
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "openrpc": "1.3.2",
        "info": {"title": "Loom", "version": ABI},
        "methods": methods,
        "components": {"schemas": schemas},
    })
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.with(|s| s.definitions_path = "/components/schemas".into()).into_generator()
}

/// What a verb takes.
struct Args {
    doc: String,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Args {
    fn of(route: &Route) -> Self {
        let schema = (route.args)();
        let of = |key: &str| schema.get(key).cloned();
        let properties = of("properties").and_then(|known| known.as_object().cloned()).unwrap_or_default();
        let required =
            of("required").and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default();
        let doc = of("description").and_then(|doc| doc.as_str().map(Into::into)).unwrap_or_default();
        Self { doc, properties, required }
    }

    /// The first sentence.
    fn summary(&self) -> &str {
        self.doc.split_inclusive(['.', ',', ':']).next().unwrap_or_default().trim_end_matches(['.', ',', ':'])
    }
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut args = Args::of(route);
    let summary = args.summary().to_owned();
    let mut parameters = Vec::new();
    for name in route.parameters() {
        let schema = args.properties.remove(name).unwrap_or_default();
        args.required.retain(|required| required != name);
        parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    let mut operation = json!({"operationId": route.name, "summary": summary, "description": args.doc});
    if route.method.has_body() {
        let properties = std::mem::take(&mut args.properties);
        let required = !args.required.is_empty();
        let schema = json!({
            "type": "object", "properties": properties, "required": args.required, "additionalProperties": false,
        });
        operation["requestBody"] =
            json!({"required": required, "content": {"application/json": {"schema": schema}}});
    } else {
        for (name, schema) in &args.properties {
            let required = args.required.contains(name);
            parameters.push(json!({"name": name, "in": "query", "required": required, "schema": schema}));
        }
    }
    operation["parameters"] = parameters.into();
    let answer = (route.answer)(generator);
    let mut responses = refusals(
        EVERYWHERE.iter().chain(route.codes).chain(WITH_BODY.iter().filter(|_| route.method.has_body())),
    );
    responses.insert(
        "200".into(),
        json!({
            "description": "Done.", "content": {"application/json": {"schema": answer}},
        }),
    );
    operation["responses"] = responses.into();
    operation
}

/// One response a status, which lists the codes that it may have.
pub(super) fn refusals<'a>(codes: impl Iterator<Item = &'a Code>) -> Map<String, Value> {
    let mut by_status = BTreeMap::<u16, Vec<Code>>::new();
    for code in codes {
        by_status.entry(code.status()).or_default().push(*code);
    }
    let response = |codes: Vec<Code>| {
        let lines: Vec<_> = codes.iter().map(|code| format!("* `{code}`: {}", code.meaning())).collect();
        let content = json!({"application/problem+json": {"schema": reference("Problem")}});
        json!({"description": lines.join("\n"), "content": content})
    };
    by_status.into_iter().map(|(status, codes)| (status.to_string(), response(codes))).collect()
}

fn problem() -> Value {
    let codes: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    json!({
        "type": "object",
        "description": "An RFC 9457 problem.",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": {"type": "string", "description": "`urn:loom:problem:<code>`"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "code": {"type": "string", "enum": codes},
            "detail": {"type": "string", "description": "What it was this time, and what to do."},
            "instance": {"type": "string", "description": "The request's id, as logs have it."},
            "report": {"type": "object", "description": "Why an execution is parked."},
            "key": {"type": "string", "description": "The key under which an update is asked for again."},
            "store": {"description": "How a store refused a remote worker."},
        },
    })
}

pub(super) fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{component}")})
}

/// A name that a component may have.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .collect()
}

/// Adds a schema that stands by itself, and what it defines, under names of its own.
fn component(name: &str, schema: Schema, schemas: &mut Map<String, Value>) {
    let mut schema: Value = schema.into();
    let defined = schema.as_object_mut().and_then(|schema| {
        schema.remove("$schema");
        schema.remove("$defs")
    });
    let rename = |value: &mut Value| rename(value, name);
    if let Some(Value::Object(defined)) = defined {
        for (own, mut part) in defined {
            rename(&mut part);
            schemas.insert(format!("{name}.{}", plain(&own)), part);
        }
    }
    rename(&mut schema);
    schemas.insert(name.into(), schema);
}

/// Makes references to what a schema defines lead to its components.
fn rename(value: &mut Value, name: &str) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(to) if key == "$ref" => {
                        if let Some(own) = to.strip_prefix("#/$defs/") {
                            *to = format!("#/components/schemas/{name}.{}", plain(own));
                        } else if to == "#" {
                            *to = format!("#/components/schemas/{name}");
                        }
                    }
                    value => rename(value, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name)),
        _ => {}
    }
}
