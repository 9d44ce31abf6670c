//! Where the gates of a flow can stand, by its static graph: which frames a person may answer before they are open.
//! Not which gates are open: the store's index tells.

use kernel::{FrameId, Payload};
use serde_json::Value;

use crate::{Callees, FlowDescriptor, GateDescriptor, Node, PartDescriptor, data_type::fits};

/// What a frame's id names.
pub(super) enum Place {
    /// A gate that may come to be.
    Gate(&'static GateDescriptor),
    /// A gate, but in so many loops: the frame lacks the repetition, or has one too many.
    Repeated(usize),
    /// Nothing.
    Unknown,
}

/// Looks the frame up in the flow and its parts.
pub(super) fn find(flow: &FlowDescriptor, frame: &FrameId) -> Place {
    let segments: Vec<_> = frame.as_str().split('/').collect();
    look(flow.graph, flow.gates, flow.callees(), &segments, 0).unwrap_or(Place::Unknown)
}

/// The gates of the flow and its parts, by their frames, each once.
pub(crate) fn all(flow: &FlowDescriptor) -> Vec<(String, &'static GateDescriptor)> {
    let mut found = Vec::new();
    list((flow.graph, flow.gates, flow.callees()), None, &mut Vec::new(), &mut found);
    found
}

/// Whether an answer fits an open gate of this name, by the schema that it was opened with; and reads as what the flow
/// takes it for, if this program's flow is the one that asks: that of another release may take another type.
///
/// # Errors
/// What is wrong, and where.
pub(super) fn check(
    flow: Option<&FlowDescriptor>,
    (gate, schema): (&str, &Value),
    answer: &Payload,
) -> Result<(), String> {
    fits(schema, answer)?;
    let asks = |known: &&GateDescriptor| known.name == gate && known.answer.schema().as_value() == schema;
    let known = flow.and_then(|flow| flow.every_gate().find(asks));
    known.map_or(Ok(()), |known| known.answer.reads(answer))
}

/// The graph of a flow or part, and what it refers to.
type Body = (&'static [Node], &'static [GateDescriptor], Callees);

/// Adds those of one body below `scope`; `within` are the parts that lead there, which may call each other in a circle.
fn list(
    (nodes, gates, callees): Body,
    scope: Option<&FrameId>,
    within: &mut Vec<&'static PartDescriptor>,
    found: &mut Vec<(String, &'static GateDescriptor)>,
) {
    let frame = |id: &str| FrameId::compose(scope, id, &[""; 0]);
    for node in nodes {
        match node {
            Node::Gate { id, .. } => {
                let frame = frame(id).to_string();
                if let Some(gate) = gates.iter().find(|gate| gate.id == *id)
                    && found.iter().all(|(known, _)| *known != frame)
                {
                    found.push((frame, gate));
                }
            }
            Node::Part { id, .. } => {
                if let Some(part) = callees.part(id).filter(|part| !within.iter().any(|known| known.is(part)))
                {
                    within.push(part);
                    list((part.graph, part.gates, part.callees()), Some(&frame(id)), within, found);
                    within.pop();
                }
            }
            Node::Loop { body, .. } | Node::Block { body, .. } | Node::Unreachable { body, .. } => {
                list((body, gates, callees), scope, within, found);
            }
            Node::Branch { arms, .. } | Node::Parallel { arms, .. } => {
                for arm in *arms {
                    list((arm.body, gates, callees), scope, within, found);
                }
            }
            _ => {}
        }
    }
}

fn look(
    nodes: &'static [Node],
    gates: &'static [GateDescriptor],
    callees: Callees,
    segments: &[&str],
    loops: usize,
) -> Option<Place> {
    let (first, rest) = segments.split_first()?;
    let (base, levels) = match first.split_once('#') {
        Some((base, levels)) => (base, levels.split('.').count()),
        None => (*first, 0),
    };
    let is = |id: &str| FrameId::compose(None, id, &[""; 0]).as_str() == base;
    // A closure, or a `.key(..)` outside loops, gives a level that the graph does not show.
    let fits = (loops..=loops + 1).contains(&levels);
    let mut misfit = None;
    for node in nodes {
        let found = match node {
            Node::Gate { id, .. } if rest.is_empty() && is(id) => {
                let gate = gates.iter().find(|gate| gate.id == *id);
                gate.map(|gate| if fits { Place::Gate(gate) } else { Place::Repeated(loops) })
            }
            Node::Part { id, .. } if !rest.is_empty() && is(id) && fits => {
                callees.part(id).and_then(|part| look(part.graph, part.gates, part.callees(), rest, 0))
            }
            Node::Loop { body, .. } => look(body, gates, callees, segments, loops + 1),
            Node::Block { body, .. } | Node::Unreachable { body, .. } => {
                look(body, gates, callees, segments, loops)
            }
            Node::Branch { arms, .. } | Node::Parallel { arms, .. } => {
                arms.iter().find_map(|arm| look(arm.body, gates, callees, segments, loops))
            }
            _ => None,
        };
        match found {
            Some(Place::Gate(gate)) => return Some(Place::Gate(gate)),
            Some(other) => misfit = Some(other),
            None => {}
        }
    }
    misfit
}
