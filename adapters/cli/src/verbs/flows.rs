//! `flows`: what this program is made of, flows and steps.
//! Not what runs: that is `list`.

use loom_runtime::{FlowDescriptor, Node, RetryPolicy, StepDescriptor, kernel::Delivery};
use serde_json::{Value, json};

use super::{Program, reader};
use crate::{
    error::CliError,
    exit::Exit,
    render::{
        instant::span,
        schema::hint,
        table::Table,
        text::{first_line, shorten},
    },
};

impl Program<'_> {
    pub(super) fn flows(&mut self) -> Result<Exit, CliError> {
        let registry = self.registry;
        if self.json {
            let flows: Vec<_> = registry.flows().map(flow_json).collect();
            let steps: Vec<_> = registry.steps().map(step_json).collect();
            self.print_json(&json!({"flows": flows, "steps": steps}))?;
            return Ok(Exit::Done);
        }
        let paint = reader(self.console).paint;
        let mut text = String::new();
        for flow in registry.flows() {
            text.push_str(&format!("{}  {}\n", paint.bold(flow.name), paint.dim(&flow.location.to_string())));
            let mut line = |name: &str, value: String| {
                if !value.is_empty() {
                    text.push_str(&format!("  {name:<7}{value}\n"));
                }
            };
            line("doc", first_line(flow.doc).to_owned());
            line("input", shorten(&hint((flow.input)().as_value()), 100));
            line("steps", steps(flow).join(", "));
            for gate in flow.all_gates() {
                line("gate", format!("{} {}", gate.name, shorten(&hint((gate.schema)().as_value()), 80)));
            }
            line("parts", flow.all_parts().iter().map(|part| part.name).collect::<Vec<_>>().join(", "));
            line(
                "effects",
                flow.effects.map(|effects| format!(" {}", effects.join(", "))).unwrap_or_default(),
            );
            text.push('\n');
        }
        let mut table =
            Table::new(&["STEP", "DELIVERY", "ATTEMPTS", "TIMEOUT", "EFFECTS", "LOCATION", "DOC"]);
        for step in registry.steps() {
            table.row([
                step.name.to_owned(),
                delivery(step.delivery).to_owned(),
                attempts(&step.retry),
                step.timeout.map(span).unwrap_or_default(),
                step.effects.join(", "),
                step.location.to_string(),
                first_line(step.doc).to_owned(),
            ]);
        }
        if table.is_empty() && text.is_empty() {
            self.console.say("no flows and no steps; `loom::link!` links crates that no code names");
            return Ok(Exit::Done);
        }
        text.push_str(&table.render(self.console.width));
        self.console.print(&text);
        Ok(Exit::Done)
    }
}

fn flow_json(flow: &FlowDescriptor) -> Value {
    let gates: Vec<_> = flow
        .all_gates()
        .iter()
        .map(|gate| json!({"name": gate.name, "schema": (gate.schema)().as_value()}))
        .collect();
    let mut json = json!({
        "name": flow.name,
        "doc": flow.doc,
        "location": flow.location.to_string(),
        "steps": steps(flow),
        "gates": gates,
        "parts": flow.all_parts().iter().map(|part| part.name).collect::<Vec<_>>(),
    });
    if let Some(effects) = flow.effects {
        json["effects"] = json!(effects);
    }
    json
}

fn step_json(step: &StepDescriptor) -> Value {
    let RetryPolicy { attempts, initial, max, factor } = step.retry;
    let millis = |span: std::time::Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": step.name,
        "doc": step.doc,
        "location": step.location.to_string(),
        "delivery": step.delivery,
        "retry": {"attempts": attempts, "initial_ms": millis(initial), "max_ms": millis(max), "factor": factor},
        "timeout_ms": step.timeout.map(millis),
        "heartbeat_ms": step.heartbeat.map(millis),
        "effects": step.effects,
        "resources": step.resources.iter().map(|resource| (resource.name)()).collect::<Vec<_>>(),
    })
}

const fn delivery(delivery: Delivery) -> &'static str {
    match delivery {
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

/// The steps that a flow and its parts run, each once, in the order of the source.
fn steps(flow: &FlowDescriptor) -> Vec<&'static str> {
    let mut found = Vec::new();
    add_steps(flow.graph, &mut found);
    for part in flow.all_parts() {
        add_steps(part.graph, &mut found);
    }
    found
}

fn add_steps(nodes: &'static [Node], found: &mut Vec<&'static str>) {
    for node in nodes {
        match node {
            Node::Step { step, .. } if !found.contains(step) => found.push(step),
            Node::Loop { body, .. } | Node::Unreachable { body, .. } => add_steps(body, found),
            Node::Branch { arms, .. } | Node::Parallel { arms, .. } => {
                arms.iter().for_each(|arm| add_steps(arm.body, found));
            }
            _ => {}
        }
    }
}
