//! The static graph of a flow: its calls under the branches, loops and joins around them. Not the
//! graph of one execution, which only its log knows.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;

use crate::location::line;
use crate::runtime_path::RuntimePath;

/// A node, as the runtime's `Node`.
#[derive(Clone)]
pub(crate) enum Node {
    Step { id: String, step: String, at: Span },
    Gate { id: String, at: Span },
    Timer { id: String, at: Span },
    Decision { id: String, at: Span },
    Emit { id: String, at: Span },
    Part { id: String, part: String, at: Span },
    Loop { label: String, at: Span, body: Vec<Node> },
    Branch { label: String, at: Span, arms: Vec<Arm> },
    Parallel { at: Span, arms: Vec<Arm> },
    Return { at: Span },
}

/// One way through a branch, or one side of a join.
#[derive(Clone)]
pub(crate) struct Arm {
    pub(crate) label: String,
    pub(crate) body: Vec<Node>,
}

impl Node {
    /// The node as an expression that a constant can hold.
    pub(crate) fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let leaf = |kind: &str, at: Span, fields: TokenStream| {
            let kind = syn::Ident::new(kind, Span::mixed_site());
            let line = line(at);
            quote_spanned!(Span::mixed_site()=> #runtime::Node::#kind { #fields line: #line })
        };
        let id = |id: &String| quote_spanned!(Span::mixed_site()=> id: #id,);
        match self {
            Self::Step { id, step, at } => {
                leaf("Step", *at, quote_spanned!(Span::mixed_site()=> id: #id, step: #step,))
            }
            Self::Gate { id: name, at } => leaf("Gate", *at, id(name)),
            Self::Timer { id: name, at } => leaf("Timer", *at, id(name)),
            Self::Decision { id: name, at } => leaf("Decision", *at, id(name)),
            Self::Emit { id: name, at } => leaf("Emit", *at, id(name)),
            Self::Part { id, part, at } => {
                leaf("Part", *at, quote_spanned!(Span::mixed_site()=> id: #id, part: #part,))
            }
            Self::Loop { label, at, body } => {
                let body = slice(body, runtime);
                leaf("Loop", *at, quote_spanned!(Span::mixed_site()=> label: #label, body: #body,))
            }
            Self::Branch { label, at, arms } => {
                let arms = arms.iter().map(|arm| arm.tokens(runtime));
                let fields = quote_spanned! {Span::mixed_site()=>
                    label: #label, arms: &[#(#arms),*],
                };
                leaf("Branch", *at, fields)
            }
            Self::Parallel { at, arms } => {
                let arms = arms.iter().map(|arm| arm.tokens(runtime));
                leaf("Parallel", *at, quote_spanned!(Span::mixed_site()=> arms: &[#(#arms),*],))
            }
            Self::Return { at } => leaf("Return", *at, TokenStream::new()),
        }
    }
}

impl Arm {
    fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let (label, body) = (&self.label, slice(&self.body, runtime));
        quote_spanned!(Span::mixed_site()=> #runtime::Arm { label: #label, body: #body })
    }
}

/// The nodes as a `&[Node]`.
pub(crate) fn slice(nodes: &[Node], runtime: &RuntimePath) -> TokenStream {
    let nodes = nodes.iter().map(|node| node.tokens(runtime));
    quote_spanned!(Span::mixed_site()=> &[#(#nodes),*])
}

/// Builds the graph while the body is walked.
pub(crate) struct Builder {
    /// The lists that are open, the body's own first.
    open: Vec<Vec<Node>>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { open: vec![Vec::new()] }
    }

    pub(crate) fn push(&mut self, node: Node) {
        if let Some(list) = self.open.last_mut() {
            list.push(node);
        }
    }

    /// Opens the body of a loop or an arm.
    pub(crate) fn open(&mut self) {
        self.open.push(Vec::new());
    }

    /// Closes it and hands over what it holds.
    pub(crate) fn close(&mut self) -> Vec<Node> {
        self.open.pop().unwrap_or_default()
    }

    /// A loop, unless nothing in it matters.
    pub(crate) fn push_loop(&mut self, label: String, at: Span, body: Vec<Node>) {
        if !body.is_empty() {
            self.push(Node::Loop { label, at, body });
        }
    }

    /// A branch, unless nothing in its arms matters.
    pub(crate) fn push_branch(&mut self, label: String, at: Span, arms: Vec<Arm>) {
        if arms.iter().any(|arm| !arm.body.is_empty()) {
            self.push(Node::Branch { label, at, arms });
        }
    }

    /// A join or a select, unless nothing in its arms matters.
    pub(crate) fn push_parallel(&mut self, at: Span, arms: Vec<Arm>) {
        if arms.iter().any(|arm| !arm.body.is_empty()) {
            self.push(Node::Parallel { at, arms });
        }
    }
}
