//! `flows`: what this program is made of: flows and agents, steps and tools, events, projections, skills, policies.
//! Not what runs: that is `list`.

use loom_runtime::{
    AgentDescriptor, Callees, FlowDescriptor, MessageDescriptor, Node, ProjectionDescriptor, Registry,
    RetryPolicy, StepDescriptor, kernel::Delivery,
};
use serde_json::{Value, json};

use super::{Program, reader};
use crate::{
    error::CliError,
    exit::Exit,
    render::{
        instant::span,
        paint::Paint,
        schema::hint,
        table::Table,
        text::{first_line, shorten},
    },
};

impl Program<'_> {
    pub(super) fn flows(&mut self) -> Result<Exit, CliError> {
        let registry = self.registry;
        if self.json {
            self.print_json(&as_json(registry))?;
            return Ok(Exit::Done);
        }
        let paint = reader(self.console).paint;
        let mut text = String::new();
        for flow in registry.flows() {
            text.push_str(&block(flow, registry, paint));
            text.push('\n');
        }
        let tables = tables(registry);
        let tables: Vec<_> = tables.iter().filter(|table| !table.is_empty()).collect();
        if tables.is_empty() && text.is_empty() {
            self.console.say("no flows and no steps; `loom::link!` links crates that no code names");
            return Ok(Exit::Done);
        }
        let tables: Vec<_> = tables.iter().map(|table| table.render(self.console.width)).collect();
        text.push_str(&tables.join("\n"));
        self.console.print(&text);
        Ok(Exit::Done)
    }
}

/// A flow in a few lines.
fn block(flow: &FlowDescriptor, registry: &Registry, paint: Paint) -> String {
    let mut text = format!("{}  {}\n", paint.bold(flow.name), paint.dim(&flow.location.to_string()));
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<9}{value}\n"));
        }
    };
    line("doc", first_line(flow.doc).to_owned());
    line("code", format!("{:016x}", registry.code(flow).body));
    if let Some(agent) = registry.agent(flow.name) {
        line("agent", limits(agent));
        line("tools", agent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", "));
        line("skills", agent.skills.iter().map(|skill| skill.name).collect::<Vec<_>>().join(", "));
    }
    if let Some(at) = flow.schedule {
        line("schedule", format!("{} ({})", at.cron, at.time_zone));
        line("overlap", at.overlap.to_string());
        line("catch up", at.catch_up.to_string());
    }
    line("input", shorten(&hint(flow.input.schema().as_value()), 100));
    line("steps", steps(flow, registry).join(", "));
    line("emits", emitted(flow, registry).join(", "));
    for (frame, gate) in flow.all_gates() {
        line("gate", format!("{frame} {}", shorten(&hint(gate.answer.schema().as_value()), 80)));
    }
    for message in flow.all_messages() {
        let shown = |schema: &Value| shorten(&hint(schema), 80);
        let reply =
            message.reply.map(|reply| format!(" → {}", shown(reply().as_value()))).unwrap_or_default();
        line("message", format!("{} {}{reply}", message.name, shown(message.body.schema().as_value())));
    }
    line("parts", flow.all_parts().iter().map(|part| part.name).collect::<Vec<_>>().join(", "));
    line("effects", flow.effects.map(|effects| effects.join(", ")).unwrap_or_default());
    line("policies", flow.policies.iter().map(|policy| policy.name).collect::<Vec<_>>().join(", "));
    text
}

/// What an agent works with, and how long.
fn limits(agent: &AgentDescriptor) -> String {
    let model =
        agent.model.map_or_else(|| "the program's model".to_owned(), |model| format!("model {model}"));
    let turns = agent.max_turns.map(|turns| format!("at most {turns} turns"));
    let tokens = agent.budget.tokens.map(|tokens| format!("{tokens} tokens"));
    let usd = agent.budget.usd_micros.map(dollars);
    let said: Vec<_> = [Some(model), turns, tokens, usd].into_iter().flatten().collect();
    said.join(", ")
}

/// Millionths, as people write them: `$0.25`, `$1.00`, `$0.000001`.
fn dollars(micros: u64) -> String {
    let decimals = format!("{:06}", micros % 1_000_000);
    let short = decimals.trim_end_matches('0');
    format!("${}.{short:0<2}", micros / 1_000_000)
}

fn tables(registry: &Registry) -> Vec<Table> {
    let mut steps = Table::new(&["STEP", "DELIVERY", "ATTEMPTS", "TIMEOUT", "EFFECTS", "LOCATION", "DOC"]);
    for step in registry.steps() {
        steps.row([
            step.name.to_owned(),
            delivery(step).to_owned(),
            attempts(&step.retry),
            step.timeout.map(span).unwrap_or_default(),
            step.effects.join(", "),
            step.location.to_string(),
            first_line(step.doc).to_owned(),
        ]);
    }
    let mut tools = Table::new(&["TOOL", "ARGUMENTS", "DOC"]);
    for tool in registry.tools() {
        tools.row([
            tool.name().to_owned(),
            shorten(&hint(tool.arguments().as_value()), 60),
            first_line(tool.description()).to_owned(),
        ]);
    }
    let mut events = Table::new(&["EVENT", "VERSION", "READS FROM", "LOCATION", "DOC"]);
    for event in registry.events() {
        events.row([
            event.name.to_owned(),
            event.version.to_string(),
            event.oldest.to_string(),
            event.location.to_string(),
            first_line(event.doc).to_owned(),
        ]);
    }
    let mut projections = Table::new(&["PROJECTION", "VERSION", "FOLDS", "LOCATION", "DOC"]);
    for projection in registry.projections() {
        projections.row([
            projection.name.to_owned(),
            projection.version.to_string(),
            folds(projection),
            projection.location.to_string(),
            first_line(projection.doc).to_owned(),
        ]);
    }
    let mut skills = Table::new(&["SKILL", "FILE", "LOCATION", "DOC"]);
    for skill in registry.skills() {
        skills.row([
            skill.name.to_owned(),
            skill.file.to_owned(),
            skill.location.to_string(),
            first_line(skill.description).to_owned(),
        ]);
    }
    let mut policies = Table::new(&["POLICY", "ALLOWS", "DENIES", "LOCATION", "DOC"]);
    for policy in registry.policies() {
        let value = (policy.value)();
        policies.row([
            policy.name.to_owned(),
            value.allowed().unwrap_or(&["*"]).join(", "),
            value.denied().join(", "),
            policy.location.to_string(),
            first_line(policy.doc).to_owned(),
        ]);
    }
    vec![steps, tools, events, projections, skills, policies]
}

/// `order.placed, outcome of charge, lifecycle`.
fn folds(projection: &ProjectionDescriptor) -> String {
    let events = projection.events.iter().map(|event| event.name.to_owned());
    let steps = projection.steps.iter().map(|step| format!("outcome of {}", step.name));
    let lifecycle = projection.lifecycle.then(|| "lifecycle".to_owned());
    events.chain(steps).chain(lifecycle).collect::<Vec<_>>().join(", ")
}

fn as_json(registry: &Registry) -> Value {
    let events = registry.events().map(|event| {
        json!({
            "name": event.name, "doc": event.doc, "location": event.location.to_string(),
            "version": event.version, "oldest": event.oldest, "schema": (event.schema)().as_value(),
        })
    });
    let tools = registry.tools().map(|tool| {
        json!({
            "name": tool.name(), "description": tool.description(), "location": tool.location().to_string(),
            "arguments": tool.arguments().as_value(), "effects": tool.step.effects,
        })
    });
    let projections = registry.projections().map(|projection| {
        json!({
            "name": projection.name, "doc": projection.doc, "location": projection.location.to_string(),
            "version": projection.version, "state": (projection.state)().as_value(),
            "events": projection.events.iter().map(|event| event.name).collect::<Vec<_>>(),
            "steps": projection.steps.iter().map(|step| step.name).collect::<Vec<_>>(),
            "lifecycle": projection.lifecycle,
        })
    });
    let skills = registry.skills().map(|skill| {
        json!({
            "name": skill.name, "description": skill.description, "location": skill.location.to_string(),
            "file": skill.file,
        })
    });
    let policies = registry.policies().map(|policy| {
        let value = (policy.value)();
        json!({
            "name": policy.name, "doc": policy.doc, "location": policy.location.to_string(),
            "allows": value.allowed().unwrap_or(&["*"]), "denies": value.denied(),
        })
    });
    json!({
        "flows": registry.flows().map(|flow| flow_json(flow, registry)).collect::<Vec<_>>(),
        "agents": registry.agents().map(agent_json).collect::<Vec<_>>(),
        "steps": registry.steps().map(step_json).collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(),
        "projections": projections.collect::<Vec<_>>(),
        "skills": skills.collect::<Vec<_>>(),
        "policies": policies.collect::<Vec<_>>(),
    })
}

fn flow_json(flow: &FlowDescriptor, registry: &Registry) -> Value {
    let gates: Vec<_> = flow
        .all_gates()
        .into_iter()
        .map(|(frame, gate)| json!({"frame": frame, "name": gate.name, "schema": gate.answer.schema().as_value()}))
        .collect();
    let messages: Vec<_> = flow.all_messages().into_iter().map(message_json).collect();
    let mut json = json!({
        "name": flow.name,
        "doc": flow.doc,
        "location": flow.location.to_string(),
        "code": format!("{:016x}", registry.code(flow).body),
        "steps": steps(flow, registry),
        "emits": emitted(flow, registry),
        "gates": gates,
        "messages": messages,
        "parts": flow.all_parts().iter().map(|part| part.name).collect::<Vec<_>>(),
        "policies": flow.policies.iter().map(|policy| policy.name).collect::<Vec<_>>(),
    });
    if let Some(effects) = flow.effects {
        json["effects"] = json!(effects);
    }
    if let Some(schedule) = flow.schedule {
        json["schedule"] = json!({
            "cron": schedule.cron,
            "time_zone": schedule.time_zone,
            "overlap": schedule.overlap,
            "catch_up": schedule.catch_up,
        });
    }
    json
}

fn message_json(message: &MessageDescriptor) -> Value {
    let mut json = json!({"name": message.name, "schema": message.body.schema().as_value()});
    if let Some(reply) = message.reply {
        json["reply"] = reply().to_value();
    }
    json
}

/// What an agent is beside the flow of its name.
fn agent_json(agent: &AgentDescriptor) -> Value {
    json!({
        "name": agent.name(),
        "instructions": agent.instructions,
        "model": agent.model,
        "tools": agent.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(),
        "skills": agent.skills.iter().map(|skill| skill.name).collect::<Vec<_>>(),
        "max_turns": agent.max_turns,
        "budget": {"tokens": agent.budget.tokens, "usd_micros": agent.budget.usd_micros},
    })
}

fn step_json(step: &StepDescriptor) -> Value {
    let RetryPolicy { attempts, initial, max, factor } = step.retry;
    let millis = |span: std::time::Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": step.name,
        "doc": step.doc,
        "location": step.location.to_string(),
        "delivery": step.delivery,
        "reads": step.reads,
        "retry": {"attempts": attempts, "initial_ms": millis(initial), "max_ms": millis(max), "factor": factor},
        "timeout_ms": step.timeout.map(millis),
        "heartbeat_ms": step.heartbeat.map(millis),
        "effects": step.effects,
        "resources": step.resources.iter().map(|resource| (resource.name)()).collect::<Vec<_>>(),
    })
}

const fn delivery(step: &StepDescriptor) -> &'static str {
    match step.delivery {
        Delivery::Pure if step.reads => "reads",
        Delivery::Pure => "pure",
        Delivery::AtLeastOnce => "at least once",
        Delivery::AtMostOnce => "at most once",
    }
}

/// `1`, `3, first after 10ms`, …
fn attempts(retry: &RetryPolicy) -> String {
    if retry.attempts <= 1 {
        return retry.attempts.to_string();
    }
    format!("{}, waiting {} to {}", retry.attempts, span(retry.initial), span(retry.max))
}

/// The steps that a flow and its parts run, each once, in the order of the source; `*` for one that the source does not
/// tell: a call that is handed over in a variable, or what is chosen at run time.
fn steps(flow: &FlowDescriptor, registry: &Registry) -> Vec<&'static str> {
    found(flow, &|node, callees| match *node {
        Node::Step { id, step, .. } => {
            Some(registry.step(callees.step(id, step)).map_or("*", |step| step.name))
        }
        _ => None,
    })
}

/// The events that they emit: their declared names, or the types as written where nobody registers one.
fn emitted(flow: &FlowDescriptor, registry: &Registry) -> Vec<&'static str> {
    found(flow, &|node, _| match *node {
        Node::Emit { event: Some(written), .. } => {
            Some(registry.emitted(written).map_or(written, |event| event.name))
        }
        _ => None,
    })
}

fn found(flow: &FlowDescriptor, named: &dyn Fn(&Node, Callees) -> Option<&'static str>) -> Vec<&'static str> {
    let mut found = Vec::new();
    add(flow.graph, &|node| named(node, flow.callees()), &mut found);
    for part in flow.all_parts() {
        add(part.graph, &|node| named(node, part.callees()), &mut found);
    }
    found
}

fn add(nodes: &'static [Node], named: &dyn Fn(&Node) -> Option<&'static str>, found: &mut Vec<&'static str>) {
    for node in nodes {
        match node {
            Node::Loop { body, .. } | Node::Block { body, .. } | Node::Unreachable { body, .. } => {
                add(body, named, found);
            }
            Node::Branch { arms, .. } | Node::Parallel { arms, .. } => {
                arms.iter().for_each(|arm| add(arm.body, named, found));
            }
            _ => found.extend(named(node).filter(|name| !found.contains(name))),
        }
    }
}
