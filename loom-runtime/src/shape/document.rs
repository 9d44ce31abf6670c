//! The content of a shape file: sorted, one fact a line, no places.
//! Not the structural fingerprint, which executions carry: this is for people who review.

use std::{iter, time::Duration};

use kernel::{Delivery, RetryPolicy};
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::{
    AgentDescriptor, Arm, Callees, EventDescriptor, FlowDescriptor, GateDescriptor, Location, LoopBound,
    MessageDescriptor, Node, PartDescriptor, PolicyDescriptor, ProjectionDescriptor, Registry,
    SkillDescriptor, StepDescriptor,
};

/// What a document tells of a crate, by kind; an item is in one of them.
pub(super) const KINDS: [&str; 9] =
    ["agents", "events", "flows", "parts", "policies", "projections", "skills", "steps", "tools"];

/// The shape of the items whose modules are those of one crate. An agent is not among the flows again, nor a tool among
/// the steps.
pub(super) fn of(registry: &Registry, library: &str) -> Value {
    let own = |location: &Location| {
        location.module.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let mut types = Schemas::default();
    let mut parts = Map::new();
    let (mut flows, mut agents) = (Map::new(), Map::new());
    for described in registry.flows() {
        // A flow of another crate may call a part of this one.
        for found in described.all_parts().into_iter().filter(|part| own(&part.location)) {
            add_part(found, registry, &mut parts, &mut types);
        }
        if own(&described.location) {
            let shape = flow(described, registry, &mut types);
            match registry.agent(described.name) {
                Some(described) => agents.insert(described.name().into(), agent(described, shape)),
                None => flows.insert(described.name.into(), shape),
            };
        }
    }
    let (mut steps, mut tools) = (Map::new(), Map::new());
    for described in registry.steps().filter(|step| own(&step.location)) {
        let shape = step(described, &mut types);
        match registry.tool(described.name) {
            Some(_) => tools.insert(described.name.into(), tool(described, shape)),
            None => steps.insert(described.name.into(), shape),
        };
    }
    let events = registry.events().filter(|event| own(&event.location));
    let events: Map<_, _> =
        events.map(|described| (described.name.into(), event(described, &mut types))).collect();
    let projections = registry.projections().filter(|projection| own(&projection.location));
    let projections: Map<_, _> =
        projections.map(|described| (described.name.into(), projection(described, &mut types))).collect();
    let skills = registry.skills().filter(|skill| own(&skill.location));
    let skills: Map<_, _> = skills.map(|described| (described.name.into(), skill(described))).collect();
    let policies = registry.policies().filter(|policy| own(&policy.location));
    let policies: Map<_, _> = policies.map(|described| (described.name.into(), policy(described))).collect();
    json!({
        "loom_shape": 1,
        "crate": library,
        "agents": agents,
        "events": events,
        "flows": flows,
        "parts": parts,
        "policies": policies,
        "projections": projections,
        "skills": skills,
        "steps": steps,
        "tools": tools,
        "types": types.into_value(),
    })
}

/// Whether nothing is in it.
pub(super) fn is_empty(document: &Value) -> bool {
    KINDS.iter().all(|kind| document[kind].as_object().is_none_or(Map::is_empty))
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

fn flow(flow: &FlowDescriptor, registry: &Registry, types: &mut Schemas) -> Value {
    let graph = nodes(flow.graph, flow.callees(), registry);
    let mut shape = body(types, (flow.gates, flow.messages), flow.callees(), flow.effects, graph);
    shape["input"] = types.mention(flow.input.schema);
    shape["output"] = types.mention(flow.output.schema);
    shape["error"] = types.mention(flow.error);
    if !flow.policies.is_empty() {
        shape["policies"] = flow.policies.iter().map(|policy| policy.name).collect();
    }
    if let Some(schedule) = flow.schedule {
        shape["schedule"] = format!("{} {}", schedule.cron, schedule.time_zone).into();
        shape["overlap"] = schedule.overlap.to_string().into();
        shape["catch_up"] = schedule.catch_up.to_string().into();
    }
    shape
}

/// What an agent is beside its flow.
fn agent(agent: &AgentDescriptor, mut shape: Value) -> Value {
    shape["instructions"] = agent.instructions.into();
    shape["model"] = agent.model.into();
    shape["tools"] = agent.tools.iter().map(|tool| tool.name()).collect();
    shape["skills"] = agent.skills.iter().map(|skill| skill.name).collect();
    shape["max_turns"] = agent.max_turns.into();
    shape["budget"] = json!({"tokens": agent.budget.tokens, "usd_micros": agent.budget.usd_micros});
    shape
}

/// What a tool is beside its step: what a model is told of it.
fn tool(step: &StepDescriptor, mut shape: Value) -> Value {
    shape["description"] = step.doc.into();
    shape["arguments"] = shape["input"].take();
    if let Some(shape) = shape.as_object_mut() {
        shape.remove("input");
    }
    shape
}

fn event(event: &EventDescriptor, types: &mut Schemas) -> Value {
    json!({
        "version": event.version,
        "upcasters": event.version.saturating_sub(event.oldest),
        "data": types.mention(event.schema),
    })
}

fn projection(projection: &ProjectionDescriptor, types: &mut Schemas) -> Value {
    let events = projection.events.iter().map(|event| format!("event {}", event.name));
    let steps = projection.steps.iter().map(|step| format!("outcome of {}", step.name));
    let lifecycle = projection.lifecycle.then(|| "lifecycle".to_owned());
    json!({
        "version": projection.version,
        "state": types.mention(projection.state),
        "folds": events.chain(steps).chain(lifecycle).collect::<Vec<_>>(),
    })
}

fn skill(skill: &SkillDescriptor) -> Value {
    json!({"description": skill.description, "file": skill.file})
}

fn policy(policy: &PolicyDescriptor) -> Value {
    let value = (policy.value)();
    json!({"allows": value.allowed().unwrap_or(&["*"]), "denies": value.denied()})
}

/// Two parts may have one name; the second goes by its module as well.
fn add_part(part: &PartDescriptor, registry: &Registry, parts: &mut Map<String, Value>, types: &mut Schemas) {
    let graph = nodes(part.graph, part.callees(), registry);
    let shape = body(types, (part.gates, part.messages), part.callees(), part.effects, graph);
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
    (gates, messages): (&[GateDescriptor], &[MessageDescriptor]),
    callees: Callees,
    effects: Option<&'static [&'static str]>,
    graph: Value,
) -> Value {
    let gates: Map<_, _> =
        gates.iter().map(|gate| (gate.id.to_owned(), types.mention(gate.answer.schema))).collect();
    let mut parts: Vec<_> = callees.parts().iter().map(|part| part.name).collect();
    parts.sort_unstable();
    let mut shape = json!({"gates": gates, "parts": parts, "graph": graph});
    if !messages.is_empty() {
        let taken = messages.iter().map(|message| (message.name.to_owned(), taken(message, types)));
        shape["messages"] = Value::Object(taken.collect());
    }
    if let Some(effects) = effects {
        shape["effects"] = effects.into();
    }
    shape
}

/// What may be sent on a topic, and what comes back.
fn taken(message: &MessageDescriptor, types: &mut Schemas) -> Value {
    let mut shape = json!({"message": types.mention(message.body.schema)});
    if let Some(reply) = message.reply {
        shape["reply"] = types.mention(reply);
    }
    shape
}

fn step(step: &StepDescriptor, types: &mut Schemas) -> Value {
    let mut shape = json!({
        "delivery": if step.reads { "reads" } else { delivery(step.delivery) },
        "effects": step.effects,
        "input": types.inline(step.input.schema),
        "output": types.mention(step.output.schema),
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

/// A graph, one line a call or jump, with the names of the steps and flows that the calls are told to run, without places and without the source text of conditions. That a `?` may end a
/// loop is no part of a flow's shape.
fn nodes(graph: &[Node], callees: Callees, registry: &Registry) -> Value {
    let within = |body: &[Node]| nodes(body, callees, registry);
    let arms = |arms: &[Arm]| arms.iter().map(|arm| within(arm.body)).collect::<Value>();
    let called = |what: &str, id: &str, name: &str| {
        if id == name { format!("{what} {name}") } else { format!("{what} {name} as {id}") }.into()
    };
    let jump = |what: &str, name: Option<&str>| match name {
        Some(name) => format!("{what} {name}").into(),
        None => what.into(),
    };
    let looped = |bound: LoopBound, name: Option<&str>, body: &[Node]| {
        let what = match bound {
            LoopBound::Bounded => "loop",
            LoopBound::Unknown => "loop, may be unbounded",
            LoopBound::Endless => "loop, unbounded",
        };
        let key = name.map_or_else(|| what.to_owned(), |name| format!("{name}: {what}"));
        Value::Object(Map::from_iter([(key, within(body))]))
    };
    graph
        .iter()
        .filter(|node| !is_silent(node))
        .map(|node| match *node {
            Node::Step { id, step, .. } => called("step", id, callees.step(id, step)),
            Node::Part { id, part, .. } => {
                called("part", id, callees.part(id).map_or(part, |part| part.name))
            }
            Node::Child { id, flow, .. } => called("child", id, callees.child(id, flow)),
            Node::Message { id, .. } => format!("message {id}").into(),
            Node::Dispatch { id, .. } => id.into(),
            Node::Gate { id, .. } => format!("gate {id}").into(),
            Node::Timer { id, .. } => format!("timer {id}").into(),
            Node::Decision { id, .. } => format!("decision {id}").into(),
            Node::Emit { id, event, .. } => match event {
                Some(written) => {
                    format!("emit {}", registry.emitted(written).map_or(written, |event| event.name)).into()
                }
                None => id.into(),
            },
            Node::Loop { bound, name, body, .. } => looped(bound, name, body),
            Node::Block { name, body, .. } => {
                Value::Object(Map::from_iter([(name.to_owned(), within(body))]))
            }
            Node::Branch { arms: ways, .. } => json!({"branch": arms(ways)}),
            Node::Parallel { policy, limit, arms: sides, .. } => {
                let limit = limit.map(|limit| format!("limit {limit}"));
                let said = policy.map(|policy| policy.as_str().to_owned()).into_iter().chain(limit);
                let key = iter::once("side by side".to_owned()).chain(said).collect::<Vec<_>>().join(", ");
                Value::Object(Map::from_iter([(key, arms(sides))]))
            }
            Node::Break { name, .. } => jump("break", name),
            Node::Continue { name, .. } => jump("continue", name),
            Node::Propagate { .. } | Node::Return { .. } => "return".into(),
            Node::Unreachable { body, .. } => json!({"unreachable": within(body)}),
        })
        .collect()
}

/// A `?`, or a branch in which nothing else stands.
fn is_silent(node: &Node) -> bool {
    match node {
        Node::Propagate { .. } => true,
        Node::Branch { arms, .. } => arms.iter().all(|arm| arm.body.iter().all(is_silent)),
        _ => false,
    }
}
