//! How the traversal follows control out of a body: returns, breaks, panics, loops without end. What
//! stands behind them is marked in the graph, never refused: rustc warns already.

use proc_macro2::Span;
use syn::visit_mut::{self, VisitMut as _};
use syn::{BinOp, ExprBinary, ExprBlock, Label, Lifetime, Path};

use crate::body::graph::Node;

use super::Walker;

/// A loop or a labelled block that a `break` may leave.
pub(super) struct Jump {
    label: Option<Lifetime>,
    is_loop: bool,
    /// Whether a `break` that control may reach leaves it.
    pub(super) taken: bool,
}

impl Jump {
    pub(super) fn out_of_loop(label: Option<&Label>) -> Self {
        Self { label: label.map(|label| label.name.clone()), is_loop: true, taken: false }
    }
}

impl Walker<'_> {
    pub(super) fn returned(&mut self, at: Span) {
        if !self.scope.is_nested() {
            self.graph.push(Node::Return { at });
        }
        self.graph.leave();
    }

    /// `?` in a loop may leave it for good.
    pub(super) fn tried(&mut self, at: Span) {
        if self.scope.depth() > 0 && !self.scope.is_nested() {
            self.graph.push_try(at);
        }
    }

    pub(super) fn continued(&mut self, at: Span, label: Option<&Lifetime>) {
        self.graph.push(Node::Continue { name: label.map(ToString::to_string), at });
        self.graph.leave();
    }

    pub(super) fn broke(&mut self, at: Span, label: Option<&Lifetime>) {
        let reached = !self.graph.has_left();
        let target = self.jumps.iter_mut().rev().find(|jump| match label {
            Some(label) => jump.label.as_ref() == Some(label),
            None => jump.is_loop,
        });
        if let Some(target) = target.filter(|_| reached) {
            target.taken = true;
        }
        self.graph.push(Node::Break { name: label.map(ToString::to_string), at });
        self.graph.leave();
    }

    /// A block with a label goes on behind itself if anything breaks out of it.
    pub(super) fn labelled_block(&mut self, block: &mut ExprBlock) {
        let Some(label) = &block.label else { return visit_mut::visit_expr_block_mut(self, block) };
        self.jumps.push(Jump { label: Some(label.name.clone()), is_loop: false, taken: false });
        let (name, at) = (label.name.to_string(), label.name.apostrophe);
        self.graph.open();
        visit_mut::visit_expr_block_mut(self, block);
        let left = self.graph.has_left();
        let body = self.graph.close();
        self.graph.push_block(name, at, body);
        if !self.jumps.pop().is_some_and(|jump| jump.taken) && left {
            self.graph.leave();
        }
    }

    /// The right side of `&&` and `||` may not run.
    pub(super) fn binary(&mut self, binary: &mut ExprBinary) {
        self.visit_expr_mut(&mut binary.left);
        let exit = self.graph.exit();
        self.visit_expr_mut(&mut binary.right);
        if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
            self.graph.back_to(exit);
        }
    }
}

/// Whether a macro never gives back control.
pub(super) fn panics(path: &Path) -> bool {
    const PANICS: &[&str] = &["panic", "unreachable", "todo", "unimplemented"];
    path.segments.last().is_some_and(|segment| PANICS.iter().any(|name| segment.ident == name))
}
