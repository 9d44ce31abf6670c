//! How the traversal treats loops: what counts as inside, and which are given a counter. The counter
//! itself is `body/rewrite.rs`'s.

use proc_macro2::Span;
use quote::quote;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprForLoop, ExprLoop, ExprWhile};

use crate::body::{label, rewrite};

use super::Walker;

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
        self.visit_expr_mut(&mut node.expr);
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        self.scope.enter_loop(false);
        self.graph.open();
        self.visit_pat_mut(&mut node.pat);
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.for_token.span);
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn while_loop(&mut self, node: &mut ExprWhile) -> Option<Expr> {
        let condition = &node.cond;
        let label = label::of(&quote!(while #condition));
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        self.scope.enter_loop(true);
        self.graph.open();
        self.visit_expr_mut(&mut node.cond);
        self.scope.leave_condition();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.while_token.span);
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn bare_loop(&mut self, node: &mut ExprLoop) -> Option<Expr> {
        let depth = self.scope.depth();
        self.scope.enter_loop(false);
        self.graph.open();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop("loop".to_owned(), node.loop_token.span);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    /// Closes a loop; whether a call in it reads its index.
    fn leave_loop(&mut self, label: String, at: Span) -> bool {
        let body = self.graph.close();
        self.graph.push_loop(label, at, body);
        self.scope.leave()
    }
}
