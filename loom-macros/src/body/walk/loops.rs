//! How the traversal treats loops: what counts as inside, and which are given a counter. The counter
//! itself is `body/rewrite.rs`'s.

use proc_macro2::Span;
use quote::quote;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprForLoop, ExprLoop, ExprWhile, Label};

use crate::body::{bounds, label, rewrite};

use super::Walker;
use super::exits::Jump;

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
        self.enter_loop(node.label.as_ref(), false);
        self.visit_pat_mut(&mut node.pat);
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.for_token.span, bounded, false);
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
        self.enter_loop(node.label.as_ref(), true);
        self.visit_expr_mut(&mut node.cond);
        self.scope.leave_condition();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.while_token.span, bounded, endless);
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn bare_loop(&mut self, node: &mut ExprLoop) -> Option<Expr> {
        let bounded = bounds::of_loop(&node.body);
        let depth = self.scope.depth();
        self.enter_loop(node.label.as_ref(), false);
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop("loop".to_owned(), node.loop_token.span, bounded, true);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn enter_loop(&mut self, label: Option<&Label>, in_condition: bool) {
        self.scope.enter_loop(in_condition);
        self.jumps.push(Jump::out_of_loop(label));
        self.graph.open();
    }

    /// Closes a loop; whether a call in it reads its index. One that is `endless` ends by `break` alone.
    fn leave_loop(&mut self, label: String, at: Span, bounded: bool, endless: bool) -> bool {
        let body = self.graph.close();
        self.graph.push_loop(label, at, bounded, body);
        let broken = self.jumps.pop().is_some_and(|jump| jump.taken);
        if endless && !broken {
            self.graph.leave();
        }
        self.scope.leave()
    }
}
