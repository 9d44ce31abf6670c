//! The content of a shape file: sorted, one fact a line, no places.
//! Not the structural fingerprint, which executions carry: this is for people who review.

use std::time::Duration;

use kernel::{Delivery, RetryPolicy};
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::{
    Arm, FlowDescriptor, GateDescriptor, Location, Node, PartDescriptor, PartFn, Registry, StepDescriptor,
};

/// The shape of the flows, parts and steps whose modules are those of one crate.
pub(super) fn of(registry: &Registry, library: &str) -> Value {
    let own = |location: &Location| {
        location.module.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let (mut flows, mut parts, mut steps) = (Map::new(), Map::new(), Map::new());
    let mut types = Schemas::default();
    for described in registry.flows() {
        // A flow of another crate may call a part of this one.
        for found in described.all_parts().into_iter().filter(|part| own(&part.location)) {
            add_part(found, &mut parts, &mut types);
        }
        if own(&described.location) {
            flows.insert(described.name.into(), flow(described, &mut types));
        }
    }
    for described in registry.steps().filter(|step| own(&step.location)) {
        steps.insert(described.name.into(), step(described, &mut types));
    }
    let types = types.into_value();
    json!({"loom_shape": 1, "crate": library, "flows": flows, "parts": parts, "steps": steps, "types": types})
}

/// Whether nothing is in it.
pub(super) fn is_empty(document: &Value) -> bool {
    ["flows", "parts", "steps"].iter().all(|kind| document[kind].as_object().is_none_or(Map::is_empty))
}

/// The document as the text of a file.
pub(super) fn text(document: &Value) -> String {
    format!("{:#}\n", sorted(document))
}

/// The keys of every object in order, whatever features of `serde_json` a program turns on.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn flow(flow: &FlowDescriptor, types: &mut Schemas) -> Value {
    let mut shape = body(types, flow.gates, flow.parts, flow.effects, flow.graph);
    shape["input"] = types.mention(flow.input);
    shape["output"] = types.mention(flow.output);
    shape["error"] = types.mention(flow.error);
    shape
}

/// Two parts may have one name; the second goes by its module as well.
fn add_part(part: &PartDescriptor, parts: &mut Map<String, Value>, types: &mut Schemas) {
    let shape = body(types, part.gates, part.parts, part.effects, part.graph);
    match parts.get(part.name) {
        Some(known) if *known != shape => {
            parts.insert(format!("{}::{}", part.location.module, part.name), shape);
        }
        _ => {
            parts.insert(part.name.into(), shape);
        }
    }
}

/// What flows and parts share.
fn body(
    types: &mut Schemas,
    gates: &[GateDescriptor],
    parts: &[PartFn],
    effects: Option<&'static [&'static str]>,
    graph: &[Node],
) -> Value {
    let gates: Map<_, _> =
        gates.iter().map(|gate| (gate.name.to_owned(), types.mention(gate.schema))).collect();
    let mut parts: Vec<_> = parts.iter().map(|part| part().name).collect();
    parts.sort_unstable();
    let mut shape = json!({"gates": gates, "parts": parts, "graph": nodes(graph)});
    if let Some(effects) = effects {
        shape["effects"] = effects.into();
    }
    shape
}

fn step(step: &StepDescriptor, types: &mut Schemas) -> Value {
    let mut shape = json!({
        "delivery": delivery(step.delivery),
        "effects": step.effects,
        "input": types.inline(step.input),
        "output": types.mention(step.output),
        "error": types.mention(step.error),
    });
    let RetryPolicy { attempts, initial, max, factor } = step.retry;
    if attempts > 1 {
        shape["retry"] = json!({
            "attempts": attempts, "initial_ms": millis(initial), "max_ms": millis(max), "factor": factor,
        });
    }
    for (key, duration) in [("timeout_ms", step.timeout), ("heartbeat_ms", step.heartbeat)] {
        if let Some(duration) = duration {
            shape[key] = millis(duration);
        }
    }
    shape
}

const fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Pure => "pure",
        Delivery::AtLeastOnce => "at_least_once",
        Delivery::AtMostOnce => "at_most_once",
    }
}

fn millis(duration: Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}

/// A graph, one line a call, without places and without the source text of conditions.
fn nodes(graph: &[Node]) -> Value {
    let arms = |arms: &[Arm]| arms.iter().map(|arm| nodes(arm.body)).collect::<Value>();
    let called = |what: &str, id: &str, name: &str| {
        if id == name { format!("{what} {name}") } else { format!("{what} {name} as {id}") }.into()
    };
    graph
        .iter()
        .map(|node| match *node {
            Node::Step { id, step, .. } => called("step", id, step),
            Node::Part { id, part, .. } => called("part", id, part),
            Node::Child { id, flow, .. } => called("child", id, flow),
            Node::Message { id, .. } => format!("message {id}").into(),
            Node::Send { id, .. } => id.into(),
            Node::Gate { id, .. } => format!("gate {id}").into(),
            Node::Timer { id, .. } => format!("timer {id}").into(),
            Node::Decision { id, .. } => format!("decision {id}").into(),
            Node::Emit { id, .. } => id.into(),
            Node::Loop { bounded: true, body, .. } => json!({"loop": nodes(body)}),
            Node::Loop { bounded: false, body, .. } => json!({"unbounded loop": nodes(body)}),
            Node::Branch { arms: ways, .. } => json!({"branch": arms(ways)}),
            Node::Parallel { arms: sides, .. } => json!({"side by side": arms(sides)}),
            Node::Return { .. } => "return".into(),
            Node::Unreachable { body, .. } => json!({"unreachable": nodes(body)}),
        })
        .collect()
}
