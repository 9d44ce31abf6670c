//! The static graph of a flow as a tree for programs: nodes with their ids and places, parts by name.
//! Not the drawing: `graph` makes nodes and edges of the same.

use loom_runtime::{Arm as Sides, Node};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'static str>,
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
pub(crate) fn of(nodes: &[Node]) -> Vec<Tree> {
    below(nodes, false)
}

fn below(nodes: &[Node], unreachable: bool) -> Vec<Tree> {
    nodes
        .iter()
        .flat_map(|node| match *node {
            Node::Unreachable { body, .. } => below(body, true),
            _ => vec![one(node, unreachable)],
        })
        .collect()
}

fn one(node: &Node, unreachable: bool) -> Tree {
    let (line, column) = node.place();
    let mut tree = Tree {
        kind: "",
        id: None,
        step: None,
        part: None,
        flow: None,
        label: None,
        line,
        column,
        marks: unreachable.then_some(Mark::Unreachable).into_iter().collect(),
        body: None,
        arms: None,
    };
    let sides = |arms: &[Sides]| {
        let arms = arms.iter().map(|arm| Arm { label: arm.label, body: below(arm.body, unreachable) });
        Some(arms.collect())
    };
    (tree.kind, tree.id) = match *node {
        Node::Step { id, step, .. } => {
            tree.step = Some(step);
            ("step", Some(id))
        }
        Node::Part { id, part, .. } => {
            tree.part = Some(part);
            ("part", Some(id))
        }
        Node::Child { id, flow, .. } => {
            tree.flow = Some(flow);
            ("child", Some(id))
        }
        Node::Message { id, .. } => ("message", Some(id)),
        Node::Send { id, .. } => ("send", Some(id)),
        Node::Gate { id, .. } => ("gate", Some(id)),
        Node::Timer { id, .. } => ("timer", Some(id)),
        Node::Decision { id, .. } => ("decision", Some(id)),
        Node::Emit { id, .. } => ("emit", Some(id)),
        Node::Loop { label, bounded, body, .. } => {
            tree.label = Some(label);
            tree.body = Some(below(body, unreachable));
            tree.marks.extend((!bounded).then_some(Mark::Unbounded));
            ("loop", None)
        }
        Node::Branch { label, arms, .. } => {
            tree.label = Some(label);
            tree.arms = sides(arms);
            ("branch", None)
        }
        Node::Parallel { arms, .. } => {
            tree.arms = sides(arms);
            ("parallel", None)
        }
        Node::Return { .. } | Node::Unreachable { .. } => ("return", None),
    };
    tree
}
