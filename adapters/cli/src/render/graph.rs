//! The static graph of a flow as nodes and edges, and those as a Mermaid flowchart.
//! Not the graph of an execution, which only its log knows: arms that were not taken are here too.

use std::collections::BTreeMap;

use loom_runtime::{
    Arm, Callees, FlowDescriptor, LoopBound, Node as Shape, ParallelPolicy, PartDescriptor, Registry,
};
use serde::Serialize;

use super::{
    text::shorten,
    tree::{self, Tree},
};

/// How many columns a label may take.
const LABEL: usize = 48;

/// A flow's graph. Ids are stable for one build of the flow.
#[derive(Debug, Serialize)]
pub(crate) struct Graph {
    flow: &'static str,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Parts, whose nodes belong together.
    groups: Vec<Group>,
    /// The same as a tree, in which parts are named.
    tree: Vec<Tree>,
    /// The trees of the parts that it reaches.
    parts: BTreeMap<&'static str, Vec<Tree>>,
}

#[derive(Debug, Serialize)]
struct Node {
    id: String,
    kind: Kind,
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    /// Of branches that run side by side: what an error in one means to the others, by the method that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'static str>,
    /// How many of them run at once at most, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

/// What is to be seen at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    /// A loop that something may end, of which the source does not show that it does: a guess.
    MayBeUnbounded,
    /// A loop that nothing ends.
    Unbounded,
    /// Nobody comes here.
    Unreachable,
}

impl Mark {
    const ALL: [Self; 3] = [Self::MayBeUnbounded, Self::Unbounded, Self::Unreachable];

    /// The mark of a loop, if it has one.
    pub(super) const fn of(bound: LoopBound) -> Option<Self> {
        match bound {
            LoopBound::Bounded => None,
            LoopBound::Unknown => Some(Self::MayBeUnbounded),
            LoopBound::Endless => Some(Self::Unbounded),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::MayBeUnbounded => "may be unbounded",
            Self::Unbounded => "unbounded",
            Self::Unreachable => "unreachable",
        }
    }

    /// How Mermaid draws it.
    const fn style(self) -> &'static str {
        match self {
            Self::MayBeUnbounded => "stroke-width:3px",
            Self::Unbounded => "stroke-width:4px",
            Self::Unreachable => "stroke-dasharray:4 4,opacity:0.5",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Start,
    Step,
    Gate,
    Timer,
    Message,
    Dispatch,
    Child,
    Decision,
    Emit,
    Part,
    Loop,
    Branch,
    Fork,
    Join,
    End,
}

#[derive(Debug, Serialize)]
struct Edge {
    from: String,
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// How control leaves what `from` stands in, when it does not go on to what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<Exit>,
}

/// How a loop, a block with a label, or the flow is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Exit {
    Break,
    Continue,
    Return,
    /// `?`, when there is an error.
    Error,
}

impl Exit {
    const fn name(self) -> &'static str {
        match self {
            Self::Break => "break",
            Self::Continue => "continue",
            Self::Return => "return",
            Self::Error => "?",
        }
    }
}

#[derive(Debug, Serialize)]
struct Group {
    id: String,
    label: String,
    part: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
}

/// Where control comes from: a node, and what the edge from it says.
#[derive(Clone)]
struct From {
    node: String,
    label: Option<String>,
    exit: Option<Exit>,
}

impl From {
    fn new(node: &str, label: Option<&str>) -> Self {
        Self { node: node.to_owned(), label: label.map(str::to_owned), exit: None }
    }

    /// The same, on its way out of something.
    fn leaving(self, exit: Exit) -> Self {
        Self { exit: Some(exit), ..self }
    }
}

/// A loop or a block with a label that is being drawn.
struct Jumps {
    name: Option<&'static str>,
    is_loop: bool,
    /// What goes on behind it.
    breaks: Vec<From>,
    /// What goes back to its head.
    continues: Vec<From>,
}

impl Graph {
    /// The graph of a flow, its parts drawn in.
    pub(crate) fn of(flow: &FlowDescriptor, registry: &Registry) -> Self {
        let graph = Self {
            flow: flow.name,
            nodes: Vec::new(),
            edges: Vec::new(),
            groups: Vec::new(),
            tree: tree::of(flow.graph, flow.callees(), registry),
            parts: flow
                .all_parts()
                .iter()
                .map(|part| (part.name, tree::of(part.graph, part.callees(), registry)))
                .collect(),
        };
        let mut builder = Builder {
            graph,
            registry,
            callees: flow.callees(),
            group: None,
            parts: Vec::new(),
            jumps: Vec::new(),
            unreachable: false,
        };
        let start = builder.node(
            Kind::Start,
            flow.name,
            Some((flow.location.line, flow.location.column)),
            Vec::new(),
        );
        let mut returned = Vec::new();
        let mut ends = builder.run(flow.graph, vec![From::new(&start, None)], &mut returned);
        ends.extend(returned);
        if !ends.is_empty() {
            builder.node(Kind::End, "end", None, ends);
        }
        builder.graph
    }

    /// The graph as a Mermaid flowchart.
    pub(crate) fn mermaid(&self) -> String {
        let mut text = String::from("flowchart TD\n");
        self.members(None, 1, &mut text);
        for Edge { from, to, label, exit } in &self.edges {
            // What only an error does is not the way that a reader looks for first.
            let arrow = if *exit == Some(Exit::Error) { "-.->" } else { "-->" };
            let said: Vec<_> = label.as_deref().into_iter().chain(exit.map(Exit::name)).collect();
            match said.is_empty() {
                true => text.push_str(&format!("    {from} {arrow} {to}\n")),
                false => text.push_str(&format!("    {from} {arrow}|{}| {to}\n", quoted(&said.join(" · ")))),
            }
        }
        for mark in Mark::ALL {
            let marked = self.nodes.iter().filter(|node| node.marks.contains(&mark));
            let marked: Vec<_> = marked.map(|node| node.id.as_str()).collect();
            if !marked.is_empty() {
                let (name, style) = (mark.name().replace(' ', "_"), mark.style());
                text.push_str(&format!(
                    "    classDef {name} {style}\n    class {} {name}\n",
                    marked.join(",")
                ));
            }
        }
        text
    }

    fn members(&self, of: Option<&str>, depth: usize, text: &mut String) {
        let space = "    ".repeat(depth);
        for node in self.nodes.iter().filter(|node| node.group.as_deref() == of) {
            let (open, close) = node.kind.brackets();
            let policy = node.policy.map(str::to_owned);
            let limit = node.limit.map(|limit| format!("limit {limit}"));
            let marks = node.marks.iter().map(|mark| mark.name().to_owned());
            let said: String =
                policy.into_iter().chain(limit).chain(marks).map(|said| format!(" · {said}")).collect();
            let label = quoted(&format!("{}{said}", node.label));
            text.push_str(&format!("{space}{}{open}{label}{close}\n", node.id));
        }
        for group in self.groups.iter().filter(|group| group.group.as_deref() == of) {
            text.push_str(&format!("{space}subgraph {}[{}]\n", group.id, quoted(&group.label)));
            self.members(Some(&group.id), depth + 1, text);
            text.push_str(&format!("{space}end\n"));
        }
    }
}

impl Kind {
    const fn brackets(self) -> (&'static str, &'static str) {
        match self {
            Self::Start | Self::End => ("([", "])"),
            Self::Step => ("[", "]"),
            Self::Gate => ("[/", "/]"),
            Self::Timer => ("((", "))"),
            Self::Message => ("[/", "/]"),
            Self::Dispatch => (">", "]"),
            Self::Child => ("[[", "]]"),
            Self::Decision => ("[\\", "\\]"),
            Self::Emit => (">", "]"),
            Self::Part => ("[[", "]]"),
            Self::Loop => ("{{", "}}"),
            Self::Branch => ("{", "}"),
            Self::Fork | Self::Join => ("(", ")"),
        }
    }
}

/// Text that Mermaid takes as it is.
fn quoted(label: &str) -> String {
    let mut text = String::from("\"");
    for c in label.chars() {
        match c {
            '"' => text.push_str("#quot;"),
            '#' => text.push_str("#35;"),
            '<' => text.push_str("#lt;"),
            '>' => text.push_str("#gt;"),
            '&' => text.push_str("#amp;"),
            '`' => text.push('\''),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// What a branch asks. A `match` on a durable call is named after that: `match manager`, not its code again.
fn question(label: &str, arms: &[Arm], before: Option<&Shape>) -> String {
    let calls = |method: &str| label.contains(&format!(".{method}"));
    let id = match before {
        Some(Shape::Gate { id, .. }) if calls("suspend") => id,
        Some(Shape::Step { id, .. }) if calls("run(") => id,
        Some(Shape::Decision { id, .. }) if calls("decide") => id,
        Some(Shape::Part { id, .. }) if calls("part(") => id,
        _ => return label.to_owned(),
    };
    // An `if` says what of it matters.
    let is_match = !arms.iter().any(|arm| matches!(arm.label, "then" | "else"));
    if is_match { format!("match {id}") } else { label.to_owned() }
}

struct Builder<'r> {
    graph: Graph,
    registry: &'r Registry,
    /// What the body calls that is being drawn.
    callees: Callees,
    group: Option<String>,
    /// The parts that are being drawn: one that calls itself is drawn once.
    parts: Vec<&'static PartDescriptor>,
    /// What the jumps in what is being drawn may leave, outermost first.
    jumps: Vec<Jumps>,
    /// Whether nobody comes to what is being drawn.
    unreachable: bool,
}

impl Builder<'_> {
    fn node(&mut self, kind: Kind, label: &str, place: Option<(u32, u32)>, from: Vec<From>) -> String {
        let id = match kind {
            Kind::Start => "start".to_owned(),
            Kind::End => "done".to_owned(),
            _ => format!("n{}", self.graph.nodes.len()),
        };
        let (label, group) = (shorten(label, LABEL), self.group.clone());
        let (line, column) = place.unzip();
        let marks = self.unreachable.then_some(Mark::Unreachable).into_iter().collect();
        let (policy, limit) = (None, None);
        self.graph.nodes.push(Node {
            id: id.clone(),
            kind,
            label,
            line,
            column,
            policy,
            limit,
            marks,
            group,
        });
        self.edges(from, &id);
        id
    }

    fn edges(&mut self, from: Vec<From>, to: &str) {
        for From { node, label, exit } in from {
            let label = label.filter(|said| !said.is_empty()).map(|said| shorten(&said, LABEL));
            self.graph.edges.push(Edge { from: node, to: to.to_owned(), label, exit });
        }
    }

    /// What a jump to this label, or without one, is in.
    fn target(&mut self, name: Option<&str>) -> Option<&mut Jumps> {
        self.jumps.iter_mut().rev().find(|jumps| match name {
            Some(_) => jumps.name == name,
            None => jumps.is_loop,
        })
    }

    /// Draws a body; answers where control leaves it. What returns early goes to `returned`.
    fn run(&mut self, nodes: &[Shape], mut from: Vec<From>, returned: &mut Vec<From>) -> Vec<From> {
        let mut before = None;
        for node in nodes {
            from = self.one(node, before, from, returned);
            before = Some(node);
        }
        from
    }

    fn one(
        &mut self,
        node: &Shape,
        before: Option<&Shape>,
        from: Vec<From>,
        returned: &mut Vec<From>,
    ) -> Vec<From> {
        let callees = self.callees;
        let mut leaf = |kind, label: &str| {
            vec![From::new(&self.node(kind, label, Some(node.place()), from.clone()), None)]
        };
        match *node {
            Shape::Step { id, step, .. } => match callees.step(id, step) {
                step if id == step => leaf(Kind::Step, id),
                step => leaf(Kind::Step, &format!("{id}: {step}")),
            },
            Shape::Gate { id, .. } => leaf(Kind::Gate, id),
            Shape::Timer { id, .. } => leaf(Kind::Timer, id),
            Shape::Message { id, .. } => leaf(Kind::Message, id),
            Shape::Dispatch { id, .. } => leaf(Kind::Dispatch, id),
            Shape::Child { id, flow, .. } => leaf(Kind::Child, &format!("{id}: {}", callees.child(id, flow))),
            Shape::Decision { id, .. } => leaf(Kind::Decision, id),
            Shape::Emit { id, event, .. } => {
                let declared = event.and_then(|written| self.registry.emitted(written));
                let label = declared.map(|event| event.name).or(event).unwrap_or(id);
                vec![From::new(&self.node(Kind::Emit, label, Some(node.place()), from), None)]
            }
            Shape::Part { id, part, .. } => self.part(id, part, node.place(), from),
            Shape::Loop { label, name, bound, head_ends, body, .. } => {
                let head = self.node(Kind::Loop, label, Some(node.place()), from);
                if let Some(drawn) = self.graph.nodes.last_mut() {
                    drawn.marks.extend(Mark::of(bound));
                }
                self.jumps.push(Jumps { name, is_loop: true, breaks: Vec::new(), continues: Vec::new() });
                let mut back = self.run(body, vec![From::new(&head, Some("each"))], returned);
                let Jumps { breaks, continues, .. } = self.jumps.pop().expect("it was pushed");
                back.extend(continues);
                back.retain(|from| from.node != head);
                self.edges(back, &head);
                let mut out = Vec::new();
                if head_ends {
                    out.push(From::new(&head, Some("done")));
                }
                out.extend(breaks);
                out
            }
            Shape::Block { name, body, .. } => {
                let name = Some(name);
                self.jumps.push(Jumps { name, is_loop: false, breaks: Vec::new(), continues: Vec::new() });
                let mut out = self.run(body, from, returned);
                out.extend(self.jumps.pop().expect("it was pushed").breaks);
                out
            }
            Shape::Break { name, .. } => {
                if let Some(target) = self.target(name) {
                    target.breaks.extend(from.into_iter().map(|from| from.leaving(Exit::Break)));
                }
                Vec::new()
            }
            Shape::Continue { name, .. } => {
                if let Some(target) = self.target(name) {
                    target.continues.extend(from.into_iter().map(|from| from.leaving(Exit::Continue)));
                }
                Vec::new()
            }
            Shape::Propagate { .. } => {
                returned.extend(from.iter().cloned().map(|from| from.leaving(Exit::Error)));
                from
            }
            Shape::Branch { label, arms, .. } => {
                let head = self.node(Kind::Branch, &question(label, arms, before), Some(node.place()), from);
                let mut out = self.arms(&head, arms, returned);
                // An `if` without `else`, or a `let … else`, lists one arm: the other goes straight on.
                if let [only] = arms {
                    out.push(From::new(&head, Some(if only.label == "else" { "then" } else { "else" })));
                }
                out
            }
            Shape::Parallel { policy, limit, arms, .. } => {
                let fork = self.node(Kind::Fork, "side by side", Some(node.place()), from);
                if let Some(drawn) = self.graph.nodes.last_mut() {
                    (drawn.policy, drawn.limit) = (policy.map(ParallelPolicy::as_str), limit);
                }
                let out = self.arms(&fork, arms, returned);
                if policy == Some(ParallelPolicy::Detach) {
                    // Nobody waits for the arms.
                    vec![From::new(&fork, None)]
                } else if out.is_empty() {
                    out
                } else {
                    vec![From::new(&self.node(Kind::Join, "joined", None, out), None)]
                }
            }
            Shape::Return { .. } => {
                returned.extend(from.into_iter().map(|from| from.leaving(Exit::Return)));
                Vec::new()
            }
            Shape::Unreachable { body, .. } => {
                let outer = std::mem::replace(&mut self.unreachable, true);
                self.run(body, Vec::new(), &mut Vec::new());
                self.unreachable = outer;
                Vec::new()
            }
        }
    }

    fn arms(&mut self, head: &str, arms: &[Arm], returned: &mut Vec<From>) -> Vec<From> {
        let mut out = Vec::new();
        for arm in arms {
            out.extend(self.run(arm.body, vec![From::new(head, Some(arm.label))], returned));
        }
        out
    }

    fn part(&mut self, id: &str, name: &str, place: (u32, u32), from: Vec<From>) -> Vec<From> {
        let found = self.callees.part(id);
        let name = found.map_or(name, |part| part.name);
        let label = if id == name { id.to_owned() } else { format!("{id}: {name}") };
        let Some(part) = found.filter(|part| !self.parts.iter().any(|drawn| drawn.is(part))) else {
            return vec![From::new(&self.node(Kind::Part, &label, Some(place), from), None)];
        };
        let group = format!("g{}", self.graph.groups.len());
        let outer = self.group.replace(group.clone());
        self.graph.groups.push(Group { id: group, label, part: part.name, group: outer.clone() });
        self.parts.push(part);
        let callees = std::mem::replace(&mut self.callees, part.callees());
        let mut returned = Vec::new();
        let mut out = self.run(part.graph, from, &mut returned);
        out.extend(returned);
        self.callees = callees;
        self.parts.pop();
        self.group = outer;
        out
    }
}

#[cfg(test)]
mod tests;
