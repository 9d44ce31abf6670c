//! The static graph of a flow as a tree for programs: nodes with their ids and places, parts by name.
//! Not the drawing: `graph` makes nodes and edges of the same.

use loom_runtime::{Arm as Sides, Callees, Node, ParallelPolicy, Registry};
use serde::Serialize;

use super::graph::Mark;

/// A node. Which fields it has depends on its kind.
#[derive(Debug, Serialize)]
pub(crate) struct Tree {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    /// The declared name of an emitted event, if it is registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    /// The type or constructor of an emitted event, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<&'static str>,
    /// The label that a loop or block has, or that a jump names: `'outer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'static str>,
    /// What an error in one arm means to the others: the method of `ctx.scope()` or `ctx.parallel(..)` that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'static str>,
    /// How many arms run at once at most, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    line: u32,
    column: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Vec<Self>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arms: Option<Vec<Arm>>,
}

#[derive(Debug, Serialize)]
struct Arm {
    label: &'static str,
    body: Vec<Tree>,
}

/// The tree of a flow's or a part's own body.
pub(crate) fn of(nodes: &[Node], callees: Callees, registry: &Registry) -> Vec<Tree> {
    below(nodes, callees, registry, false)
}

fn below(nodes: &[Node], callees: Callees, registry: &Registry, unreachable: bool) -> Vec<Tree> {
    nodes
        .iter()
        .flat_map(|node| match *node {
            Node::Unreachable { body, .. } => below(body, callees, registry, true),
            _ => vec![one(node, callees, registry, unreachable)],
        })
        .collect()
}

fn one(node: &Node, callees: Callees, registry: &Registry, unreachable: bool) -> Tree {
    let (line, column) = node.place();
    let mut tree = Tree {
        kind: "",
        id: None,
        step: None,
        part: None,
        flow: None,
        event: None,
        written: None,
        name: None,
        label: None,
        policy: None,
        limit: None,
        line,
        column,
        marks: unreachable.then_some(Mark::Unreachable).into_iter().collect(),
        body: None,
        arms: None,
    };
    let sides = |arms: &[Sides]| {
        let arms = arms
            .iter()
            .map(|arm| Arm { label: arm.label, body: below(arm.body, callees, registry, unreachable) });
        Some(arms.collect())
    };
    (tree.kind, tree.id) = match *node {
        Node::Step { id, step, .. } => {
            tree.step = Some(callees.step(id, step));
            ("step", Some(id))
        }
        Node::Part { id, part, .. } => {
            tree.part = Some(callees.part(id).map_or(part, |part| part.name));
            ("part", Some(id))
        }
        Node::Child { id, flow, .. } => {
            tree.flow = Some(callees.child(id, flow));
            ("child", Some(id))
        }
        Node::Message { id, .. } => ("message", Some(id)),
        Node::Dispatch { id, .. } => ("send", Some(id)),
        Node::Gate { id, .. } => ("gate", Some(id)),
        Node::Timer { id, .. } => ("timer", Some(id)),
        Node::Decision { id, .. } => ("decision", Some(id)),
        Node::Emit { id, event, .. } => {
            tree.written = event;
            tree.event = event.and_then(|written| registry.emitted(written)).map(|event| event.name);
            ("emit", Some(id))
        }
        Node::Loop { label, name, bound, body, .. } => {
            (tree.label, tree.name) = (Some(label), name);
            tree.body = Some(below(body, callees, registry, unreachable));
            tree.marks.extend(Mark::of(bound));
            ("loop", None)
        }
        Node::Block { name, body, .. } => {
            tree.name = Some(name);
            tree.body = Some(below(body, callees, registry, unreachable));
            ("block", None)
        }
        Node::Break { name, .. } => {
            tree.name = name;
            ("break", None)
        }
        Node::Continue { name, .. } => {
            tree.name = name;
            ("continue", None)
        }
        Node::Propagate { .. } => ("try", None),
        Node::Branch { label, arms, .. } => {
            tree.label = Some(label);
            tree.arms = sides(arms);
            ("branch", None)
        }
        Node::Parallel { policy, limit, arms, .. } => {
            (tree.policy, tree.limit) = (policy.map(ParallelPolicy::as_str), limit);
            tree.arms = sides(arms);
            ("parallel", None)
        }
        Node::Return { .. } | Node::Unreachable { .. } => ("return", None),
    };
    tree
}
