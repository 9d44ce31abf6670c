//! How the traversal treats loops: what counts as inside, and which are given a counter. The counter
//! itself is `body/rewrite.rs`'s.

use proc_macro2::Span;
use quote::quote;
use syn::visit::Visit as _;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprForLoop, ExprLoop, ExprWhile, Label};

use crate::body::graph::{Bound, Node};
use crate::body::variation::Changes;
use crate::body::{bounds, label, rewrite};

use super::Walker;
use super::exits::Jump;

/// A loop as its syntax shows it.
struct Written<'n> {
    label: String,
    /// The label that jumps name.
    name: Option<&'n Label>,
    at: Span,
    /// Whether what it goes over ends, or a counter ends it.
    bounded: bool,
    /// Whether nothing at its head ever ends it.
    endless: bool,
    /// Whether control leaves it by jumps alone.
    jumps_only: bool,
}

impl Walker<'_> {
    pub(super) fn any_loop(&mut self, expr: &mut Expr) {
        let counted = match expr {
            Expr::ForLoop(node) => self.for_loop(node),
            Expr::While(node) => self.while_loop(node),
            Expr::Loop(node) => self.bare_loop(node),
            _ => None,
        };
        if let Some(counted) = counted {
            *expr = counted;
        }
    }

    fn for_loop(&mut self, node: &mut ExprForLoop) -> Option<Expr> {
        let (pat, iterated) = (&node.pat, &node.expr);
        let label = label::of(&quote!(for #pat in #iterated));
        let bounded = bounds::of_for(&node.expr);
        self.visit_expr_mut(&mut node.expr);
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        self.enter_loop(
            node.label.as_ref(),
            false,
            Changes::made_in(|changes| changes.visit_block(&node.body)),
        );
        self.visit_pat_mut(&mut node.pat);
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(Written {
            label,
            name: node.label.as_ref(),
            at: node.for_token.span,
            bounded,
            endless: !bounded,
            jumps_only: false,
        });
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn while_loop(&mut self, node: &mut ExprWhile) -> Option<Expr> {
        let condition = &node.cond;
        let label = label::of(&quote!(while #condition));
        let (bounded, endless) = (bounds::of_while(&node.cond, &node.body), bounds::is_true(&node.cond));
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        let changes = Changes::made_in(|changes| changes.visit_expr_while(node));
        self.enter_loop(node.label.as_ref(), true, changes);
        self.visit_expr_mut(&mut node.cond);
        self.scope.leave_condition();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(Written {
            label,
            name: node.label.as_ref(),
            at: node.while_token.span,
            bounded,
            endless,
            jumps_only: endless,
        });
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn bare_loop(&mut self, node: &mut ExprLoop) -> Option<Expr> {
        let bounded = bounds::of_loop(&node.body);
        let depth = self.scope.depth();
        self.enter_loop(
            node.label.as_ref(),
            false,
            Changes::made_in(|changes| changes.visit_block(&node.body)),
        );
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(Written {
            label: "loop".to_owned(),
            name: node.label.as_ref(),
            at: node.loop_token.span,
            bounded,
            endless: true,
            jumps_only: true,
        });
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn enter_loop(&mut self, label: Option<&Label>, in_condition: bool, changes: Changes) {
        self.scope.enter_loop(in_condition, changes);
        self.jumps.push(Jump::out_of_loop(label));
        self.graph.open();
    }

    /// Closes a loop; whether a call in it reads its index.
    fn leave_loop(&mut self, written: Written<'_>) -> bool {
        let Written { label, name, at, bounded, endless, jumps_only } = written;
        let body = self.graph.close();
        let broken = self.jumps.pop().is_some_and(|jump| jump.taken);
        let counted = self.scope.leave();
        let exits = |node: &Node| {
            matches!(node, Node::Return { .. } | Node::Propagate { .. } | Node::Break { name: Some(_), .. })
                || matches!(node, Node::Continue { name: Some(_), .. })
        };
        // What leaves a closure or an `async` block is not in the graph.
        let left = broken || self.scope.is_nested() || body.iter().any(|node| node.any(&exits));
        let bound = match (bounded, endless && !left) {
            (true, _) => Bound::Bounded,
            (false, true) => Bound::Endless,
            (false, false) => Bound::Unknown,
        };
        let name = name.map(|label| label.name.to_string());
        let node = Node::Loop { label, name, at, bound, head_ends: !jumps_only, body };
        self.graph.push_loop(node, self.scope.depth() > 0);
        if jumps_only && !broken {
            self.graph.leave();
        }
        counted
    }
}
