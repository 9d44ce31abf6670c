//! Which code a program has: fingerprints of flows, and of the program as a whole.
//! Not a version number: nobody counts it up, the tokens say it.

use kernel::{Digest, Fingerprints};

use crate::{Arm, Callees, FlowDescriptor, GateDescriptor, Node, Registry};

/// The fingerprints of a flow with its parts: body from their tokens; structure from ids, kinds and schemas, those of
/// the steps that the registry has included.
pub(crate) fn of(flow: &FlowDescriptor, registry: &Registry) -> Fingerprints {
    let parts = flow.all_parts();
    let mut bodies = flow.fingerprint.to_le_bytes().to_vec();
    let mut steps = Vec::new();
    let mut shape = shape_of(flow.graph, flow.callees(), &mut steps);
    for part in parts {
        bodies.extend(part.fingerprint.to_le_bytes());
        shape.extend(shape_of(part.graph, part.callees(), &mut steps));
    }
    let gates = gates_of(flow).into_iter().map(|gate| gate.answer.schema);
    let messages = flow
        .all_messages()
        .into_iter()
        .flat_map(|message| [message.body.schema].into_iter().chain(message.reply));
    let steps = steps.iter().filter_map(|name| registry.step(name));
    let of_steps = steps.flat_map(|step| [step.input.schema, step.output.schema, step.error]);
    let schemas = [flow.input.schema, flow.output.schema, flow.error]
        .into_iter()
        .chain(gates)
        .chain(messages)
        .chain(of_steps);
    shape.extend(schemas.map(|schema| schema().as_value().to_string()));
    Fingerprints { body: short(&bodies), structure: short(format!("{shape:?}").as_bytes()) }
}

/// Its gates and those of its parts, each name once: the ids are in the graph.
fn gates_of(flow: &FlowDescriptor) -> Vec<&'static GateDescriptor> {
    let mut gates: Vec<&GateDescriptor> = Vec::new();
    for gate in flow.every_gate() {
        if gates.iter().all(|known| known.name != gate.name) {
            gates.push(gate);
        }
    }
    gates
}

/// The graph without its lines: moving code changes no structure. Notes the steps that it runs.
fn shape_of(nodes: &[Node], callees: Callees, steps: &mut Vec<&'static str>) -> Vec<String> {
    let mut shape = Vec::new();
    for node in nodes {
        shape.push(match node {
            Node::Step { id, step, .. } => {
                let step = callees.step(id, step);
                steps.push(step);
                format!("step {id} {step}")
            }
            Node::Gate { id, .. } => format!("gate {id}"),
            Node::Timer { id, .. } => format!("timer {id}"),
            Node::Decision { id, .. } => format!("decision {id}"),
            Node::Emit { id, .. } => format!("emit {id}"),
            Node::Message { id, .. } => format!("message {id}"),
            Node::Dispatch { id, .. } => format!("send {id}"),
            Node::Child { id, flow, .. } => format!("child {id} {flow}"),
            Node::Part { id, part, .. } => format!("part {id} {part}"),
            Node::Loop { body, .. } => format!("loop {:?}", shape_of(body, callees, steps)),
            Node::Branch { arms, .. } => match shapes_of(arms, callees, steps) {
                nothing if nothing.iter().all(Vec::is_empty) => continue,
                arms => format!("branch {arms:?}"),
            },
            Node::Block { body, .. } => {
                shape.extend(shape_of(body, callees, steps));
                continue;
            }
            // They ask for nothing.
            Node::Break { .. } | Node::Continue { .. } | Node::Propagate { .. } => continue,
            Node::Parallel { arms, .. } => format!("parallel {:?}", shapes_of(arms, callees, steps)),
            Node::Return { .. } => "return".into(),
            Node::Unreachable { body, .. } => format!("unreachable {:?}", shape_of(body, callees, steps)),
        });
    }
    shape
}

fn shapes_of(arms: &[Arm], callees: Callees, steps: &mut Vec<&'static str>) -> Vec<Vec<String>> {
    arms.iter().map(|arm| shape_of(arm.body, callees, steps)).collect()
}

/// What tells one build of a program from another: its flows' and steps' tokens, and its file. The tokens do not show
/// a type or a helper that was mended. `code` has the fingerprints of its flows.
pub(crate) fn of_program(registry: &Registry, code: impl Fn(&str) -> Fingerprints) -> Digest {
    let flows = registry.flows().flat_map(|flow| code(flow.name).body.to_le_bytes());
    let steps = registry.steps().flat_map(|step| step.fingerprint.to_le_bytes());
    let tokens: Vec<_> = flows.chain(steps).collect();
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let file = file.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    Digest::of_parts(&[&tokens, file.unwrap_or_default().as_bytes()])
}

fn short(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&Digest::of(bytes).bytes()[..8]);
    u64::from_le_bytes(eight)
}
