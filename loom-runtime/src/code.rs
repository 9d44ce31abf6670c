//! Which code a program has: fingerprints of flows, and of the program as a whole.
//! Not a version number: nobody counts it up, the tokens say it.

use kernel::{Digest, Fingerprints};

use crate::{Arm, FlowDescriptor, Node, Registry};

/// The fingerprints of a flow with its parts: body from their tokens, structure from graph and schemas.
pub(crate) fn of(flow: &FlowDescriptor) -> Fingerprints {
    let mut bodies = flow.fingerprint.to_le_bytes().to_vec();
    let mut shape = format!("{:?}", shape_of(flow.graph));
    for part in flow.all_parts() {
        bodies.extend(part.fingerprint.to_le_bytes());
        shape.push_str(&format!("{:?}", shape_of(part.graph)));
    }
    for schema in [flow.input, flow.output, flow.error] {
        shape.push_str(&schema().as_value().to_string());
    }
    for gate in flow.gates {
        shape.push_str(&(gate.schema)().as_value().to_string());
    }
    Fingerprints { body: short(&bodies), structure: short(shape.as_bytes()) }
}

/// The graph without its lines: moving code changes no structure.
fn shape_of(nodes: &[Node]) -> Vec<String> {
    let arms = |arms: &[Arm]| arms.iter().map(|arm| shape_of(arm.body)).collect::<Vec<_>>();
    nodes
        .iter()
        .map(|node| match node {
            Node::Step { id, step, .. } => format!("step {id} {step}"),
            Node::Gate { id, .. } => format!("gate {id}"),
            Node::Timer { id, .. } => format!("timer {id}"),
            Node::Decision { id, .. } => format!("decision {id}"),
            Node::Emit { id, .. } => format!("emit {id}"),
            Node::Part { id, part, .. } => format!("part {id} {part}"),
            Node::Loop { body, .. } => format!("loop {:?}", shape_of(body)),
            Node::Branch { arms: of, .. } => format!("branch {:?}", arms(of)),
            Node::Parallel { arms: of, .. } => format!("parallel {:?}", arms(of)),
            Node::Return { .. } => "return".into(),
            Node::Unreachable { body, .. } => format!("unreachable {:?}", shape_of(body)),
        })
        .collect()
}

/// What tells one build of a program from another: every flow's, part's and step's tokens.
pub(crate) fn of_program(registry: &Registry) -> Digest {
    let flows = registry.flows().flat_map(|flow| of(flow).body.to_le_bytes());
    let steps = registry.steps().flat_map(|step| step.fingerprint.to_le_bytes());
    Digest::of(&flows.chain(steps).collect::<Vec<_>>())
}

fn short(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&Digest::of(bytes).bytes()[..8]);
    u64::from_le_bytes(eight)
}
