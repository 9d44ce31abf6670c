//! `schema`: the JSON Schemas of a flow, its gates and topics, of a step, a tool or an event.
//! Not a check of values: the runtime does that wherever one comes in.

use loom_runtime::{EventDescriptor, FlowDescriptor, MessageDescriptor, Registry, StepDescriptor};
use serde_json::{Map, Value, json};

use super::{Program, flow, unknown};
use crate::{args::Schema, error::CliError, exit::Exit};

impl Program<'_> {
    pub(super) fn schema(&mut self, args: Schema) -> Result<Exit, CliError> {
        let schema = find(self.registry, &args)?;
        let text = if self.json { schema.to_string() } else { format!("{schema:#}") };
        self.console.line(&text);
        Ok(Exit::Done)
    }
}

fn find(registry: &Registry, args: &Schema) -> Result<Value, CliError> {
    if let Some(name) = &args.step {
        let step = registry.step(name).ok_or_else(|| unknown("step", name, registry.steps().map(|s| s.name)));
        return step.map(|step| of_step(step, registry));
    }
    if let Some(name) = &args.event {
        let event = registry.event(name);
        return event.map(of_event).ok_or_else(|| unknown("event", name, registry.events().map(|e| e.name)));
    }
    let name = args.name.as_deref().unwrap_or_default();
    if let Some(gate) = &args.gate {
        let gates = flow(registry, name)?.all_gates();
        let known = gates.iter().find(|(frame, _)| frame == gate);
        let known = known.or_else(|| gates.iter().find(|(_, known)| known.name == gate));
        let (_, known) =
            known.ok_or_else(|| unknown("gate", gate, gates.iter().map(|(frame, _)| frame.as_str())))?;
        return Ok(known.answer.schema().to_value());
    }
    if let Some(topic) = &args.topic {
        let messages = flow(registry, name)?.all_messages();
        let known = messages.iter().find(|known| known.name == topic);
        let known = known.ok_or_else(|| unknown("topic", topic, messages.iter().map(|known| known.name)))?;
        return Ok(of_message(known));
    }
    let flow = registry.flow(name).map(of_flow);
    let step = || registry.step(name).map(|step| of_step(step, registry));
    let event = || registry.event(name).map(of_event);
    flow.or_else(step).or_else(event).ok_or_else(|| {
        let flows = registry.flows().map(|flow| flow.name);
        let known =
            flows.chain(registry.steps().map(|step| step.name)).chain(registry.events().map(|e| e.name));
        unknown("flow, step, tool or event", name, known)
    })
}

fn of_flow(flow: &'static FlowDescriptor) -> Value {
    let gates = flow.all_gates().into_iter().map(|(frame, gate)| (frame, gate.answer.schema().to_value()));
    let messages =
        flow.all_messages().into_iter().map(|message| (message.name.to_owned(), of_message(message)));
    json!({
        "flow": flow.name,
        "input": flow.input.schema(), "output": flow.output.schema(), "error": (flow.error)(),
        "gates": Map::from_iter(gates),
        "messages": Map::from_iter(messages),
    })
}

/// What is taken on a topic, and what comes back.
fn of_message(message: &MessageDescriptor) -> Value {
    let mut json = json!({"message": message.body.schema()});
    if let Some(reply) = message.reply {
        json["reply"] = reply().to_value();
    }
    json
}

fn of_step(step: &StepDescriptor, registry: &Registry) -> Value {
    let (input, output, error) = (step.input.schema(), step.output.schema(), (step.error)());
    let mut json = json!({"step": step.name, "input": input, "output": output, "error": error});
    if registry.tool(step.name).is_some() {
        json["tool"] = step.name.into();
    }
    json
}

fn of_event(event: &'static EventDescriptor) -> Value {
    json!({"event": event.name, "version": event.version, "data": (event.schema)()})
}
