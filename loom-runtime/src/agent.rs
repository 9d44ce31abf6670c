//! Agents: flows that work with a model.
//! Not a second engine: what is recorded, replayed and resumed is the flow.

use schemars::Schema;

use crate::{Flow, FlowDescriptor, Location, PolicyDescriptor, SkillDescriptor, ToolDescriptor};

/// An agent. `#[agent]` implements it, and [`Flow`], on a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent",
    note = "write `#[agent]` on the flow's function"
)]
pub trait Agent: Flow {
    /// What the registry knows of it.
    const AGENT: &'static AgentDescriptor;
}

/// A registered agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentDescriptor {
    /// The flow that it is: input, body, graph.
    pub flow: &'static FlowDescriptor,
    /// What the model is told to do: the doc comment.
    pub instructions: &'static str,
    /// The model, by the name under which the program knows it; `None` for the program's own choice.
    pub model: Option<&'static str>,
    /// The tools that it may call.
    pub tools: &'static [&'static ToolDescriptor],
    /// The skills that it may look up.
    pub skills: &'static [&'static SkillDescriptor],
    /// How many turns it may take.
    pub max_turns: Option<u32>,
    /// What it may use up.
    pub budget: Budget,
}

/// What an agent may use up in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens, of input and output together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub usd_micros: Option<u64>,
}

impl AgentDescriptor {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.flow.name
    }

    /// Where it is written.
    pub const fn location(&self) -> Location {
        self.flow.location
    }

    /// The JSON Schema of its answer.
    pub fn output(&self) -> Schema {
        self.flow.output.schema()
    }

    /// The policies that it is held to.
    pub const fn policies(&self) -> &'static [&'static PolicyDescriptor] {
        self.flow.policies
    }
}
