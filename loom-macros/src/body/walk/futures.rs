//! How the traversal places calls that are made in one place and awaited in another: `let a = ctx.run(..)`
//! does nothing until `a` is joined, so the graph has it there. Only the graph is concerned: a call's id is
//! that of the place where it is written.

use proc_macro2::{Ident, Span, TokenStream};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprCall, ExprMacro, Pat, Path, Token};

use crate::body::graph::{Arm, Node, Together};
use crate::body::label;
use crate::body::macros::{self, Arguments};
use crate::item::mentions;
use quote::ToTokens as _;

use super::Walker;

/// The futures that have been made and not been placed yet.
#[derive(Default)]
pub(super) struct Futures {
    waiting: Vec<Future>,
    /// How many awaits the function at hand has passed; those of inner functions are not among them.
    pub(super) awaits: usize,
}

/// Calls under a name.
struct Future {
    name: Ident,
    made: Made,
}

enum Made {
    /// One future, or something of which nothing more is known.
    Nodes(Vec<Node>),
    /// A list of futures.
    Each(Vec<Arm>),
}

/// Whether a function takes futures and runs them side by side.
pub(super) fn joins(call: &ExprCall) -> bool {
    const JOINS: &[&str] = &["join_all", "try_join_all", "select_all", "select_ok"];
    let Expr::Path(path) = &*call.func else { return false };
    let name = path.path.segments.last().map(|segment| &segment.ident);
    call.args.len() == 1 && JOINS.iter().any(|join| name.is_some_and(|name| name == join))
}

impl Walker<'_> {
    /// `join_all(futures)`: one arm for each that is written out, else one for what repeats.
    pub(super) fn joining_call(&mut self, call: &mut ExprCall) {
        self.visit_expr_mut(&mut call.func);
        let at = match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.span()),
            _ => None,
        };
        self.side_by_side(&mut call.args, at, &Together::default());
    }

    /// The same for the arguments of whatever runs futures at once.
    pub(super) fn side_by_side(
        &mut self,
        args: &mut Punctuated<Expr, Token![,]>,
        at: Option<Span>,
        together: &Together,
    ) {
        let arms = match args.first_mut() {
            Some(Expr::Path(path)) if let Some(name) = path.path.get_ident() => match self.take(name) {
                Some(Made::Each(arms)) => Some(arms),
                Some(Made::Nodes(body)) => {
                    Some(vec![Arm { label: name.to_string(), body, leaves: false, cfgs: Vec::new() }])
                }
                None => None,
            },
            Some(argument) => self.each(argument),
            None => None,
        };
        let arms = arms.unwrap_or_else(|| {
            let label = label::of(&args.to_token_stream());
            self.graph.open();
            self.arguments(args);
            vec![self.graph.close_arm(label)]
        });
        if let Some(at) = at {
            self.graph.push_parallel(at, together.clone(), arms);
        }
    }

    /// Walks the elements of `[a, b]` and `vec![a, b]`, one arm each; `None` and nothing done for anything else.
    fn each(&mut self, list: &mut Expr) -> Option<Vec<Arm>> {
        match list {
            Expr::Array(array) => {
                Some(array.elems.iter_mut().map(|element| self.listed_arm(element)).collect())
            }
            Expr::Macro(ExprMacro { mac, .. }) if is_vec(&mac.path) => {
                let mut elements: Arguments = syn::parse2(mac.tokens.clone()).ok()?;
                if elements.repeats() {
                    return None;
                }
                let arms = elements.exprs().map(|element| self.arm(element)).collect();
                mac.tokens = elements.into_token_stream();
                Some(arms)
            }
            _ => None,
        }
    }

    /// Walks the initialiser of a `let`. What it makes without awaiting it is kept until it is mentioned.
    pub(super) fn initialiser(&mut self, pat: &Pat, expr: &mut Expr) {
        let name = match pat {
            Pat::Ident(pat) => Some(&pat.ident),
            Pat::Type(typed) => match &*typed.pat {
                Pat::Ident(pat) => Some(&pat.ident),
                _ => None,
            },
            _ => None,
        };
        let Some(name) = name else { return self.visit_expr_mut(expr) };
        let awaits = self.futures.awaits;
        self.graph.open();
        let made = match self.each(expr) {
            Some(arms) => Made::Each(arms),
            None => {
                self.visit_expr_mut(expr);
                Made::Nodes(Vec::new())
            }
        };
        let left = self.graph.has_left();
        let nodes = self.graph.close();
        let inert = self.futures.awaits == awaits && !left && !has_happened(&nodes);
        match made {
            Made::Each(arms) if inert && arms.iter().all(|arm| !has_happened(&arm.body)) => {
                let arms =
                    arms.into_iter().map(|arm| Arm { body: self.conditional(arm.body), ..arm }).collect();
                self.keep(name, Made::Each(arms));
            }
            Made::Each(arms) => arms.into_iter().for_each(|arm| self.graph.extend(arm.body)),
            Made::Nodes(_) if inert => {
                let nodes = self.conditional(nodes);
                self.keep(name, Made::Nodes(nodes));
            }
            Made::Nodes(_) => {
                self.graph.extend(nodes);
                if left {
                    self.graph.leave();
                }
            }
        }
    }

    /// A name is mentioned: what it stands for runs here.
    pub(super) fn place_future(&mut self, name: &Ident) {
        let made = self.take(name);
        self.place(made);
    }

    /// The same for a macro that is not read.
    pub(super) fn futures_in(&mut self, tokens: &TokenStream, path: &Path) {
        if macros::grammar(path).is_some() {
            return;
        }
        let named: Vec<Ident> = self.futures.waiting.iter().map(|future| future.name.clone()).collect();
        for name in named.iter().filter(|name| mentions(tokens, name)) {
            self.place_future(name);
        }
    }

    /// Those that nobody mentions stay where the body ends: better shown in the wrong place than not at all.
    pub(super) fn place_all_futures(&mut self) {
        let exit = self.graph.exit();
        for future in std::mem::take(&mut self.futures.waiting) {
            self.place(Some(future.made));
        }
        self.graph.back_to(exit);
    }

    fn keep(&mut self, name: &Ident, made: Made) {
        // One of that name that was not mentioned can be so no more.
        self.place_future(name);
        let empty = match &made {
            Made::Nodes(nodes) => nodes.is_empty(),
            Made::Each(arms) => arms.iter().all(|arm| arm.body.is_empty()),
        };
        if !empty {
            self.futures.waiting.push(Future { name: name.clone(), made });
        }
    }

    fn take(&mut self, name: &Ident) -> Option<Made> {
        let at = self.futures.waiting.iter().rposition(|future| future.name == *name)?;
        Some(self.futures.waiting.remove(at).made)
    }

    fn place(&mut self, made: Option<Made>) {
        match made {
            Some(Made::Nodes(nodes)) => self.graph.extend(nodes),
            Some(Made::Each(arms)) => arms.into_iter().for_each(|arm| self.graph.extend(arm.body)),
            None => {}
        }
    }
}

fn is_vec(path: &Path) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == "vec")
}

/// Whether something in there is done as soon as it is called.
fn has_happened(nodes: &[Node]) -> bool {
    let happens = |node: &Node| {
        matches!(
            node,
            Node::Emit { .. } | Node::Dispatch { .. } | Node::Return { .. } | Node::Propagate { .. }
        ) || matches!(node, Node::Break { .. } | Node::Continue { .. })
    };
    nodes.iter().any(|node| node.any(&happens))
}
