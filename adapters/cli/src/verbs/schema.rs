//! `schema`: the JSON Schemas of a flow, a gate or a step.
//! Not a check of values: the runtime does that wherever one comes in.

use serde_json::{Map, Value, json};

use super::{Program, flow, unknown};
use crate::{args::Schema, error::CliError, exit::Exit};

impl Program<'_> {
    pub(super) fn schema(&mut self, args: Schema) -> Result<Exit, CliError> {
        let flow = flow(self.registry, &args.flow)?;
        let gates = flow.all_gates();
        let schema = match (&args.gate, &args.step) {
            (Some(name), _) => match gates.iter().find(|gate| gate.name == name) {
                Some(gate) => (gate.schema)().as_value().clone(),
                None => return Err(unknown("gate", name, gates.iter().map(|gate| gate.name))),
            },
            (None, Some(name)) => {
                let registry = self.registry;
                let known = || registry.steps().map(|step| step.name);
                let step = registry.step(name).ok_or_else(|| unknown("step", name, known()))?;
                let [input, output, error] =
                    [step.input, step.output, step.error].map(|schema| schema().as_value().clone());
                json!({"step": step.name, "input": input, "output": output, "error": error})
            }
            (None, None) => {
                let [input, output, error] =
                    [flow.input, flow.output, flow.error].map(|schema| schema().as_value().clone());
                let named = |gate: &&loom_runtime::GateDescriptor| {
                    (gate.name.to_owned(), (gate.schema)().as_value().clone())
                };
                let gates: Map<String, Value> = gates.iter().map(named).collect();
                json!({"flow": flow.name, "input": input, "output": output, "error": error, "gates": gates})
            }
        };
        let text = if self.json { schema.to_string() } else { format!("{schema:#}") };
        self.console.line(&text);
        Ok(Exit::Done)
    }
}
