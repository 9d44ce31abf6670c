//! The static graph of a flow: its calls under the branches, loops and joins around them. Not the
//! graph of one execution, which only its log knows.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Attribute;

use crate::arguments::optional;
use crate::location::place;
use crate::runtime_path::RuntimePath;

/// A node, as the runtime's `Node`.
#[derive(Clone)]
pub(crate) enum Node {
    Step {
        id: String,
        step: String,
        at: Span,
    },
    Gate {
        id: String,
        at: Span,
    },
    Timer {
        id: String,
        at: Span,
    },
    Decision {
        id: String,
        at: Span,
    },
    Emit {
        id: String,
        event: Option<String>,
        at: Span,
    },
    Message {
        id: String,
        at: Span,
    },
    Dispatch {
        id: String,
        at: Span,
    },
    Child {
        id: String,
        flow: String,
        at: Span,
    },
    Part {
        id: String,
        part: String,
        at: Span,
    },
    Loop {
        label: String,
        name: Option<String>,
        at: Span,
        bound: Bound,
        head_ends: bool,
        body: Vec<Node>,
    },
    Branch {
        label: String,
        at: Span,
        arms: Vec<Arm>,
    },
    Parallel {
        at: Span,
        together: Together,
        /// The scope to which the only arm was added, until it is known where that is awaited.
        added: Option<usize>,
        arms: Vec<Arm>,
    },
    Block {
        name: String,
        at: Span,
        body: Vec<Node>,
    },
    Break {
        name: Option<String>,
        at: Span,
    },
    Continue {
        name: Option<String>,
        at: Span,
    },
    /// A `?` within a loop.
    Propagate {
        at: Span,
    },
    Return {
        at: Span,
    },
    /// What a `#[cfg(..)]` may leave out.
    Conditional {
        cfgs: Vec<Attribute>,
        at: Span,
        body: Vec<Node>,
    },
    /// Nobody comes here: what stands before has left for good.
    Unreachable {
        at: Span,
        body: Vec<Node>,
    },
}

/// One way through a branch, or one side of a join.
#[derive(Clone)]
pub(crate) struct Arm {
    pub(crate) label: String,
    pub(crate) body: Vec<Node>,
    /// Whether control never comes out at its end.
    pub(crate) leaves: bool,
    /// The conditions of compilation of the whole arm.
    pub(crate) cfgs: Vec<Attribute>,
}

impl Node {
    /// The node as an expression that a constant can hold.
    pub(crate) fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let leaf = |kind: &str, at: Span, fields: TokenStream| {
            let kind = syn::Ident::new(kind, Span::mixed_site());
            let place = place(at);
            quote_spanned!(Span::mixed_site()=> #runtime::Node::#kind { #fields #place })
        };
        let id = |id: &String| quote_spanned!(Span::mixed_site()=> id: #id,);
        match self {
            Self::Step { id, step, at } => {
                leaf("Step", *at, quote_spanned!(Span::mixed_site()=> id: #id, step: #step,))
            }
            Self::Gate { id: name, at } => leaf("Gate", *at, id(name)),
            Self::Timer { id: name, at } => leaf("Timer", *at, id(name)),
            Self::Decision { id: name, at } => leaf("Decision", *at, id(name)),
            Self::Message { id: name, at } => leaf("Message", *at, id(name)),
            Self::Dispatch { id: name, at } => leaf("Dispatch", *at, id(name)),
            Self::Child { id, flow, at } => {
                leaf("Child", *at, quote_spanned!(Span::mixed_site()=> id: #id, flow: #flow,))
            }
            Self::Emit { id, event, at } => {
                let event = optional(event.as_ref());
                leaf("Emit", *at, quote_spanned!(Span::mixed_site()=> id: #id, event: #event,))
            }
            Self::Part { id, part, at } => {
                leaf("Part", *at, quote_spanned!(Span::mixed_site()=> id: #id, part: #part,))
            }
            Self::Loop { label, name, at, bound, head_ends, body } => {
                let (body, name, bound) = (slice(body, runtime), optional(name.as_ref()), bound.ident());
                let fields = quote_spanned! {Span::mixed_site()=>
                    label: #label,
                    name: #name,
                    bound: #runtime::LoopBound::#bound,
                    head_ends: #head_ends,
                    body: #body,
                };
                leaf("Loop", *at, fields)
            }
            Self::Branch { label, at, arms } => {
                let arms = arms.iter().map(|arm| arm.tokens(runtime));
                let fields = quote_spanned! {Span::mixed_site()=>
                    label: #label, arms: &[#(#arms),*],
                };
                leaf("Branch", *at, fields)
            }
            Self::Parallel { at, together, arms, .. } => {
                let arms = arms.iter().map(|arm| arm.tokens(runtime));
                let policy = optional(together.policy.map(|policy| {
                    let policy = syn::Ident::new(&format!("{policy:?}"), Span::mixed_site());
                    quote_spanned!(Span::mixed_site()=> #runtime::ParallelPolicy::#policy)
                }));
                let limit = optional(together.limit.as_ref());
                let fields = quote_spanned! {Span::mixed_site()=>
                    policy: #policy, limit: #limit, arms: &[#(#arms),*],
                };
                leaf("Parallel", *at, fields)
            }
            Self::Block { name, at, body } => {
                let body = slice(body, runtime);
                leaf("Block", *at, quote_spanned!(Span::mixed_site()=> name: #name, body: #body,))
            }
            Self::Break { name, at } => leaf("Break", *at, jump(name.as_ref())),
            Self::Continue { name, at } => leaf("Continue", *at, jump(name.as_ref())),
            Self::Propagate { at } => leaf("Propagate", *at, TokenStream::new()),
            Self::Return { at } => leaf("Return", *at, TokenStream::new()),
            Self::Conditional { cfgs, body, .. } => {
                let nodes = body.iter().map(|node| {
                    let node = node.tokens(runtime);
                    quote_spanned!(Span::mixed_site()=> #(#cfgs)* #node)
                });
                quote_spanned!(Span::mixed_site()=> #(#nodes),*)
            }
            Self::Unreachable { at, body } => {
                let body = slice(body, runtime);
                leaf("Unreachable", *at, quote_spanned!(Span::mixed_site()=> body: #body,))
            }
        }
    }

    /// The lists of nodes in it.
    fn lists(&self) -> Vec<&[Self]> {
        match self {
            Self::Loop { body, .. }
            | Self::Block { body, .. }
            | Self::Conditional { body, .. }
            | Self::Unreachable { body, .. } => vec![body],
            Self::Branch { arms, .. } | Self::Parallel { arms, .. } => {
                arms.iter().map(|arm| arm.body.as_slice()).collect()
            }
            _ => Vec::new(),
        }
    }

    fn lists_mut(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::Loop { body, .. }
            | Self::Block { body, .. }
            | Self::Conditional { body, .. }
            | Self::Unreachable { body, .. } => vec![body],
            Self::Branch { arms, .. } | Self::Parallel { arms, .. } => {
                arms.iter_mut().map(|arm| &mut arm.body).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it, or something in it, is as asked.
    pub(crate) fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.lists().into_iter().flatten().any(|node| node.any(is))
    }

    /// Whether it is more than a jump within the loop or block around it, which is called `name`: something is asked
    /// for, or control goes further.
    fn matters_in(&self, name: Option<&str>) -> bool {
        match self {
            // Without a label it leaves that loop, or one in it.
            Self::Break { name: to, .. } | Self::Continue { name: to, .. } => {
                to.as_deref().is_some_and(|to| Some(to) != name)
            }
            Self::Propagate { .. } => false,
            Self::Loop { .. }
            | Self::Block { .. }
            | Self::Conditional { .. }
            | Self::Branch { .. }
            | Self::Parallel { .. } => self.lists().into_iter().flatten().any(|node| node.matters_in(name)),
            _ => true,
        }
    }

    /// Whether it is, or holds, what was added to a scope.
    fn holds_added(&self, scope: usize) -> bool {
        self.any(&|node| matches!(node, Self::Parallel { added: Some(to), .. } if *to == scope))
    }

    /// Takes out what was added to a scope: what stays where it stands, and what goes, both under the same loops and
    /// branches.
    fn split(mut self, scope: usize) -> (Option<Self>, Option<Self>) {
        if !self.holds_added(scope) {
            return (Some(self), None);
        }
        if matches!(&self, Self::Parallel { added: Some(to), .. } if *to == scope) {
            return (None, Some(self));
        }
        let mut goes = self.clone();
        let (mut stays, mut left) = (self.lists_mut(), goes.lists_mut());
        for (stays, goes) in stays.iter_mut().zip(&mut left) {
            let (rest, taken): (Vec<_>, Vec<_>) = stays.drain(..).map(|node| node.split(scope)).unzip();
            **stays = rest.into_iter().flatten().collect();
            **goes = taken.into_iter().flatten().flat_map(Self::unmarked).collect();
        }
        let nothing = stays.iter().all(|list| list.is_empty());
        ((!nothing).then_some(self), Some(goes))
    }

    /// What was added, without the mark.
    fn unmarked(self) -> Vec<Self> {
        match self {
            Self::Parallel { added: Some(_), arms, .. } => {
                arms.into_iter().flat_map(|arm| arm.body).collect()
            }
            other => vec![other],
        }
    }

    /// What was added, as an arm of the whole.
    fn into_arm(self) -> Option<Arm> {
        let label = match &self {
            Self::Parallel { added: Some(_), .. } => {
                let Self::Parallel { arms, .. } = self else { return None };
                return arms.into_iter().next();
            }
            Self::Loop { label, .. } | Self::Branch { label, .. } => label.clone(),
            _ => String::new(),
        };
        Some(Arm { label, body: vec![self], leaves: false, cfgs: Vec::new() })
    }

    pub(crate) fn at(&self) -> Span {
        match self {
            Self::Step { at, .. }
            | Self::Gate { at, .. }
            | Self::Timer { at, .. }
            | Self::Decision { at, .. }
            | Self::Emit { at, .. }
            | Self::Message { at, .. }
            | Self::Dispatch { at, .. }
            | Self::Child { at, .. }
            | Self::Part { at, .. }
            | Self::Loop { at, .. }
            | Self::Branch { at, .. }
            | Self::Parallel { at, .. }
            | Self::Block { at, .. }
            | Self::Conditional { at, .. }
            | Self::Break { at, .. }
            | Self::Continue { at, .. }
            | Self::Propagate { at }
            | Self::Return { at }
            | Self::Unreachable { at, .. } => *at,
        }
    }
}

impl Arm {
    fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let (label, body, cfgs) = (&self.label, slice(&self.body, runtime), &self.cfgs);
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #runtime::Arm { label: #label, body: #body })
    }
}

/// What is said of branches that run side by side.
#[derive(Clone, Default)]
pub(crate) struct Together {
    pub(crate) policy: Option<Policy>,
    /// How many at once, as written.
    pub(crate) limit: Option<String>,
}

impl Together {
    /// What is said besides, later.
    pub(crate) fn add(&mut self, said: Self) {
        self.policy = said.policy.or(self.policy);
        self.limit = said.limit.or(self.limit.take());
    }
}

/// What an error among them means, as the runtime's `ParallelPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    All,
    FailFast,
    Drain,
    Detach,
}

/// Whether a loop ends by itself, as the runtime's `LoopBound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Bounded,
    Unknown,
    Endless,
}

impl Bound {
    fn ident(self) -> syn::Ident {
        syn::Ident::new(&format!("{self:?}"), Span::mixed_site())
    }
}

/// The field of a jump.
fn jump(name: Option<&String>) -> TokenStream {
    let name = optional(name);
    quote_spanned!(Span::mixed_site()=> name: #name,)
}

/// The nodes as a `&[Node]`.
pub(crate) fn slice(nodes: &[Node], runtime: &RuntimePath) -> TokenStream {
    let nodes = nodes.iter().map(|node| node.tokens(runtime));
    quote_spanned!(Span::mixed_site()=> &[#(#nodes),*])
}

/// Builds the graph while the body is walked.
pub(crate) struct Builder {
    /// The lists that are open, the body's own first.
    open: Vec<List>,
}

/// A list of nodes that is being filled.
#[derive(Default)]
struct List {
    nodes: Vec<Node>,
    /// How many nodes there were when control left for good.
    left_at: Option<usize>,
}

/// Where control had left a list, if it had.
#[derive(Clone, Copy)]
pub(crate) struct Exit(Option<usize>);

impl Builder {
    pub(crate) fn new() -> Self {
        Self { open: vec![List::default()] }
    }

    pub(crate) fn push(&mut self, node: Node) {
        self.extend([node]);
    }

    pub(crate) fn extend(&mut self, nodes: impl IntoIterator<Item = Node>) {
        if let Some(list) = self.open.last_mut() {
            list.nodes.extend(nodes);
        }
    }

    /// Opens the body of a loop or an arm.
    pub(crate) fn open(&mut self) {
        self.open.push(List::default());
    }

    /// Closes it and hands over what it holds; what stands behind an exit is marked.
    pub(crate) fn close(&mut self) -> Vec<Node> {
        let List { mut nodes, left_at } = self.open.pop().unwrap_or_default();
        let stranded = left_at.map(|at| nodes.split_off(at)).unwrap_or_default();
        if let Some(first) = stranded.first() {
            nodes.push(Node::Unreachable { at: first.at(), body: stranded });
        }
        nodes
    }

    /// Closes the body of an arm.
    pub(crate) fn close_arm(&mut self, label: impl Into<String>) -> Arm {
        let leaves = self.has_left();
        Arm { label: label.into(), body: self.close(), leaves, cfgs: Vec::new() }
    }

    /// Control leaves here and does not come back: `return`, `break`, a panic, a loop without end.
    pub(crate) fn leave(&mut self) {
        if let Some(list) = self.open.last_mut()
            && list.left_at.is_none()
        {
            list.left_at = Some(list.nodes.len());
        }
    }

    pub(crate) fn has_left(&self) -> bool {
        self.exit().0.is_some()
    }

    pub(crate) fn exit(&self) -> Exit {
        Exit(self.open.last().and_then(|list| list.left_at))
    }

    /// Takes back the exits since: they were conditional, or left something inner.
    pub(crate) fn back_to(&mut self, exit: Exit) {
        if let Some(list) = self.open.last_mut() {
            list.left_at = exit.0;
        }
    }

    /// A loop, unless nothing in it matters. Of one that does not, a `?` may still leave what is around it.
    pub(crate) fn push_loop(&mut self, node: Node, in_loop: bool) {
        let Node::Loop { name, at, body, .. } = &node else { return };
        if body.iter().any(|node| node.matters_in(name.as_deref())) {
            self.push(node);
        } else if in_loop && body.iter().any(|node| node.any(&|node| matches!(node, Node::Propagate { .. })))
        {
            self.push_try(*at);
        }
    }

    /// The content of a block with a label, in a node when something breaks out of it.
    pub(crate) fn push_block(&mut self, name: String, at: Span, body: Vec<Node>) {
        let breaks = |node: &Node| matches!(node, Node::Break { name: Some(to), .. } if *to == name);
        if !body.iter().any(|node| node.any(&breaks)) {
            self.extend(body);
        } else if body.iter().any(|node| node.matters_in(Some(&name))) {
            self.push(Node::Block { name, at, body });
        }
    }

    /// A `?`, unless one stands there already.
    pub(crate) fn push_try(&mut self, at: Span) {
        let last = self.open.last().and_then(|list| list.nodes.last());
        if !matches!(last, Some(Node::Propagate { .. })) {
            self.push(Node::Propagate { at });
        }
    }

    /// A branch, unless nothing in its arms matters. `exhaustive` when one of the arms is taken for sure.
    pub(crate) fn push_branch(&mut self, label: String, at: Span, exhaustive: bool, arms: Vec<Arm>) {
        let leaves = exhaustive && !arms.is_empty() && arms.iter().all(|arm| arm.leaves);
        if arms.iter().any(|arm| !arm.body.is_empty()) {
            self.push(Node::Branch { label, at, arms });
        }
        if leaves {
            self.leave();
        }
    }

    /// A join or a select, unless nothing in its arms matters.
    pub(crate) fn push_parallel(&mut self, at: Span, together: Together, arms: Vec<Arm>) {
        let leaves = !arms.is_empty() && arms.iter().all(|arm| arm.leaves);
        if arms.iter().any(|arm| !arm.body.is_empty()) {
            self.push(Node::Parallel { at, together, added: None, arms });
        }
        if leaves {
            self.leave();
        }
    }

    /// A branch that is added to a scope here.
    pub(crate) fn push_added(&mut self, scope: usize, at: Span, arm: Arm) {
        if !arm.body.is_empty() {
            self.push(Node::Parallel {
                at,
                together: Together::default(),
                added: Some(scope),
                arms: vec![arm],
            });
        }
    }

    /// Takes out what was added to a scope so far, as arms.
    pub(crate) fn take_added(&mut self, scope: usize) -> Vec<Arm> {
        let mut arms = Vec::new();
        for list in &mut self.open {
            let left = list.left_at.map(|at| list.nodes.split_off(at)).unwrap_or_default();
            let mut stay = |nodes: Vec<Node>| -> Vec<Node> {
                let (rest, taken): (Vec<_>, Vec<_>) = nodes.into_iter().map(|node| node.split(scope)).unzip();
                arms.extend(taken.into_iter().flatten().filter_map(Node::into_arm));
                rest.into_iter().flatten().collect()
            };
            list.nodes = stay(std::mem::take(&mut list.nodes));
            list.left_at = list.left_at.map(|_| list.nodes.len());
            list.nodes.extend(stay(left));
        }
        arms
    }
}
