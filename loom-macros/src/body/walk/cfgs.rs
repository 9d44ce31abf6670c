//! How the traversal treats what a `#[cfg(..)]` may leave out: the same goes for what it adds to the descriptor and to the
//! graph. Whether a condition holds, only the compiler knows.

use quote::ToTokens as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Stmt};

use crate::body::graph::Node;

use super::Walker;

impl Walker<'_> {
    /// Walks something below the conditions among its attributes.
    pub(super) fn under(&mut self, attrs: &[Attribute], walk: impl FnOnce(&mut Self)) {
        let outside = self.cfgs.len();
        self.cfgs.extend(attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned());
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
    let leading = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_outer)?;
        input.parse::<proc_macro2::TokenStream>().map(|_| attrs)
    };
    match stmt {
        Stmt::Local(local) => local.attrs.clone(),
        Stmt::Macro(mac) => mac.attrs.clone(),
        Stmt::Item(_) => Vec::new(),
        Stmt::Expr(expr, _) => leading.parse2(expr.to_token_stream()).unwrap_or_default(),
    }
}
