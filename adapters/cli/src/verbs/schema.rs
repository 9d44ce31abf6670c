//! `schema`: the JSON Schemas of a flow, a gate or a step.
//! Not a check of values: the runtime does that wherever one comes in.

use loom_runtime::{FlowDescriptor, GateDescriptor, PartDescriptor};
use serde_json::{Map, Value, json};

use super::{Verbs, unknown};
use crate::{args::Schema, error::CliError, exit::Exit};

impl Verbs<'_> {
    pub(super) fn schema(&mut self, args: Schema) -> Result<Exit, CliError> {
        let flow = self.flow(&args.flow)?;
        let gates = gates(flow);
        let schema = match (&args.gate, &args.step) {
            (Some(name), _) => match gates.iter().find(|gate| gate.name == name) {
                Some(gate) => (gate.schema)().as_value().clone(),
                None => return Err(unknown("gate", name, gates.iter().map(|gate| gate.name))),
            },
            (None, Some(name)) => {
                let registry = self.app.registry();
                let known = || registry.steps().map(|step| step.name);
                let step = registry.step(name).ok_or_else(|| unknown("step", name, known()))?;
                let [input, output, error] =
                    [step.input, step.output, step.error].map(|schema| schema().as_value().clone());
                json!({"step": step.name, "input": input, "output": output, "error": error})
            }
            (None, None) => {
                let [input, output, error] =
                    [flow.input, flow.output, flow.error].map(|schema| schema().as_value().clone());
                let named =
                    |gate: &&GateDescriptor| (gate.name.to_owned(), (gate.schema)().as_value().clone());
                let gates: Map<String, Value> = gates.iter().map(named).collect();
                json!({"flow": flow.name, "input": input, "output": output, "error": error, "gates": gates})
            }
        };
        let text = if self.json { schema.to_string() } else { format!("{schema:#}") };
        self.console.line(&text);
        Ok(Exit::Done)
    }
}

/// The gates of a flow and of its parts, each once.
pub(super) fn gates(flow: &FlowDescriptor) -> Vec<&'static GateDescriptor> {
    let mut gates: Vec<&GateDescriptor> = flow.gates.iter().collect();
    for part in parts(flow) {
        gates.extend(
            part.gates
                .iter()
                .filter(|gate| gates.iter().all(|known| known.name != gate.name))
                .collect::<Vec<_>>(),
        );
    }
    gates
}

/// The parts of a flow, and their parts, each once.
pub(super) fn parts(flow: &FlowDescriptor) -> Vec<&'static PartDescriptor> {
    let mut found = flow.all_parts();
    found.sort_by_key(|part| part.name);
    found
}
