//! Tools: steps that a model may ask for, with what it is told of them.
//! Not who calls them: an agent's loop runs a tool as a flow runs a step.

use schemars::Schema;

use crate::{Location, Step, StepDescriptor};

/// A tool. `#[tool]` implements it, and [`Step`], on a type that has the function's name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "a tool is a step that a model can read about: write `#[tool]` instead of `#[step]` on the function"
)]
pub trait Tool: Step {
    /// What the registry knows of it.
    const TOOL: &'static ToolDescriptor;
}

/// A registered tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolDescriptor {
    /// The step that it is: delivery, retries, effect classes, schemas.
    pub step: &'static StepDescriptor,
}

impl ToolDescriptor {
    /// Its name, for models and in logs.
    pub const fn name(&self) -> &'static str {
        self.step.name
    }

    /// What models are told of it: its doc comment.
    pub const fn description(&self) -> &'static str {
        self.step.doc
    }

    /// The JSON Schema of its arguments: an object with one property per parameter, described by the parameter's doc
    /// comment. Resources and the step's context are none of a model's business, and not in it.
    pub fn arguments(&self) -> Schema {
        self.step.input.schema()
    }

    /// Where it is written.
    pub const fn location(&self) -> Location {
        self.step.location
    }
}
