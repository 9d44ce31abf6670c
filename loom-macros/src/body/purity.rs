//! The banned paths in code that is no flow but must be as pure. Not a walk through durable calls: there are
//! none in it.

use syn::visit::{self, Visit};
use syn::{Block, ExprPath, Item, Macro, Path};

use super::banned::{self, Ban};
use super::macros::Arguments;

/// A path that reaches for the world outside.
pub(crate) struct Banned {
    pub(crate) path: Path,
    ban: &'static Ban,
}

impl Banned {
    /// Why it is banned, as the end of "`path` …".
    pub(crate) fn why(&self) -> &'static str {
        self.ban.why
    }
}

/// The banned paths of a block, in source order. Items within it are not part of it.
pub(crate) fn banned_in(block: &Block) -> Vec<Banned> {
    let mut search = Search(Vec::new());
    search.visit_block(block);
    search.0
}

struct Search(Vec<Banned>);

impl<'a> Visit<'a> for Search {
    fn visit_expr_path(&mut self, expr: &'a ExprPath) {
        if let Some(ban) = banned::ban(&expr.path) {
            self.0.push(Banned { path: expr.path.clone(), ban });
        }
    }

    /// A macro that takes expressions is looked into, whatever it is called.
    fn visit_macro(&mut self, mac: &'a Macro) {
        if let Ok(mut arguments) = syn::parse2::<Arguments>(mac.tokens.clone()) {
            for expr in arguments.exprs() {
                let mut within = Search(Vec::new());
                within.visit_expr(expr);
                self.0.append(&mut within.0);
            }
        }
        visit::visit_macro(self, mac);
    }

    fn visit_item(&mut self, _: &'a Item) {}
}
