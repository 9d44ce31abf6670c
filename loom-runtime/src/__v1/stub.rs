//! What stands in for the description of an item that did not compile, so that nothing else fails for its sake.
//! Not for programs that run: the compiler has reported the item, and there is no program.

use kernel::{Delivery, RetryPolicy};
use schemars::Schema;

use crate::{
    AgentDescriptor, Budget, DataType, EventDescriptor, FlowDescriptor, Location, PartDescriptor, Policy,
    PolicyDescriptor, ProjectionDescriptor, SkillDescriptor, StepDescriptor, ToolDescriptor,
};

const NOWHERE: Location = Location { file: "", line: 0, column: 0, module: "" };

fn anything() -> Schema {
    true.into()
}

/// Of a step.
pub const STEP: &StepDescriptor = &StepDescriptor {
    name: "",
    doc: "",
    location: NOWHERE,
    delivery: Delivery::AtLeastOnce,
    reads: false,
    retry: RetryPolicy::NONE,
    timeout: None,
    heartbeat: None,
    effects: &[],
    resources: &[],
    input: DataType::ANYTHING,
    output: DataType::ANYTHING,
    error: anything,
    fingerprint: 0,
    invoke: |_, _| unreachable!("this step did not compile"),
};

/// Of a flow.
pub const FLOW: &FlowDescriptor = &FlowDescriptor {
    versions: crate::InputVersions::FIRST,
    name: "",
    doc: "",
    location: NOWHERE,
    input: DataType::ANYTHING,
    output: DataType::ANYTHING,
    error: anything,
    gates: &[],
    messages: &[],
    effects: None,
    policies: &[],
    schedule: None,
    graph: &[],
    steps: &[],
    children: &[],
    parts: &[],
    fingerprint: 0,
    run: |_, _| unreachable!("this flow did not compile"),
};

/// Of a part.
pub const PART: &PartDescriptor = &PartDescriptor {
    name: "",
    location: NOWHERE,
    gates: &[],
    messages: &[],
    effects: Some(&[]),
    graph: &[],
    steps: &[],
    children: &[],
    parts: &[],
    fingerprint: 0,
};

/// Of an event.
pub const EVENT: &EventDescriptor = &EventDescriptor {
    name: "",
    ty: "",
    version: 1,
    oldest: 1,
    upcasters: &[],
    doc: "",
    location: NOWHERE,
    schema: anything,
};

/// Of a tool.
pub const TOOL: &ToolDescriptor = &ToolDescriptor { step: STEP };

/// Of a skill.
pub const SKILL: &SkillDescriptor =
    &SkillDescriptor { name: "", description: "", location: NOWHERE, file: "", instructions: || "" };

/// Of an agent.
pub const AGENT: &AgentDescriptor = &AgentDescriptor {
    flow: FLOW,
    instructions: "",
    model: None,
    tools: &[],
    skills: &[],
    max_turns: None,
    budget: Budget { tokens: None, usd_micros: None },
};

/// Of a projection.
pub const PROJECTION: &ProjectionDescriptor = &ProjectionDescriptor {
    name: "",
    doc: "",
    version: 1,
    location: NOWHERE,
    state: anything,
    events: &[],
    steps: &[],
    lifecycle: false,
    fingerprint: 0,
    project: |_, _| unreachable!("this projection did not compile"),
};

/// Of a policy.
pub const POLICY: &PolicyDescriptor =
    &PolicyDescriptor { name: "", doc: "", location: NOWHERE, value: Policy::new };
