//! How the traversal treats what a `#[cfg(..)]` may leave out: the same goes for what it adds to the descriptor and to the
//! graph. Whether a condition holds, only the compiler knows.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::parse::{ParseStream, Parser as _};
use syn::visit_mut::VisitMut as _;
use syn::{Attribute, Expr, Stmt};

use crate::body::graph::{Arm, Node};

use super::Walker;

impl Walker<'_> {
    /// Walks something below the conditions among its attributes.
    pub(super) fn under(&mut self, attrs: &[Attribute], walk: impl FnOnce(&mut Self)) {
        let outside = self.cfgs.len();
        self.cfgs.extend(conditions(attrs));
        if self.cfgs.len() == outside {
            return walk(self);
        }
        let exit = self.graph.exit();
        self.graph.open();
        walk(self);
        let nodes = self.graph.close();
        let nodes = self.conditional(nodes);
        self.graph.extend(nodes);
        // It may not be there to leave.
        self.graph.back_to(exit);
        self.cfgs.truncate(outside);
    }

    /// Walks an element of a list, an argument say, which may have conditions of its own.
    pub(super) fn listed(&mut self, element: &mut Expr) {
        self.under(&leading(element), |walker| walker.visit_expr_mut(element));
    }

    /// Walks something whose conditions are those of a whole arm of the graph.
    pub(super) fn arm_under(&mut self, attrs: &[Attribute], walk: impl FnOnce(&mut Self) -> Arm) -> Arm {
        let outside = self.cfgs.len();
        self.cfgs.extend(conditions(attrs));
        let arm = walk(self);
        let cfgs = self.cfgs.split_off(outside);
        Arm { cfgs, ..arm }
    }

    /// The same for an element of a list.
    pub(super) fn listed_arm(&mut self, element: &mut Expr) -> Arm {
        self.arm_under(&leading(element), |walker| walker.arm(element))
    }

    /// The nodes, below the conditions of this place.
    pub(super) fn conditional(&self, nodes: Vec<Node>) -> Vec<Node> {
        match nodes.first().map(Node::at) {
            Some(at) if !self.cfgs.is_empty() => {
                vec![Node::Conditional { cfgs: self.cfgs.clone(), at, body: nodes }]
            }
            _ => nodes,
        }
    }
}

/// The attributes of a statement, wherever the parser has put them.
pub(super) fn attributes(stmt: &Stmt) -> Vec<Attribute> {
    match stmt {
        Stmt::Local(local) => local.attrs.clone(),
        Stmt::Macro(mac) => mac.attrs.clone(),
        Stmt::Item(_) => Vec::new(),
        Stmt::Expr(expr, _) => leading(expr),
    }
}

/// The attributes before an expression.
fn leading(expr: &Expr) -> Vec<Attribute> {
    split(expr).0
}

/// The attributes before an expression, and the rest. The parser has put them on the innermost that begins there.
pub(super) fn split(expr: &Expr) -> (Vec<Attribute>, TokenStream) {
    let parts = |input: ParseStream<'_>| Ok((input.call(Attribute::parse_outer)?, input.parse()?));
    parts.parse2(expr.to_token_stream()).unwrap_or_default()
}

/// The conditions among attributes.
fn conditions(attrs: &[Attribute]) -> impl Iterator<Item = Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned()
}
