//! The banned paths in code that is no flow but must be as pure. Not a walk through durable calls: there are
//! none in it.

use syn::visit::{self, Visit};
use syn::{Block, ExprPath, Item, Macro, Path};

use super::banned::{self, Ban, Verdict};
use super::imports::Imports;
use super::macros::Arguments;

/// A path that reaches for the world outside.
pub(crate) struct Banned {
    pub(crate) path: Path,
    ban: &'static Ban,
    /// Whether something of the user's own may have that name.
    pub(crate) may_be_own: bool,
}

impl Banned {
    /// Why it is banned, as the end of "`path` …".
    pub(crate) fn why(&self) -> &'static str {
        self.ban.why
    }
}

/// The banned paths of a block, in source order. Items within it are not part of it.
pub(crate) fn banned_in(block: &Block) -> Vec<Banned> {
    let mut search = Search::default();
    search.visit_block(block);
    search.found
}

#[derive(Default)]
struct Search {
    found: Vec<Banned>,
    imports: Imports,
}

impl<'a> Visit<'a> for Search {
    fn visit_expr_path(&mut self, expr: &'a ExprPath) {
        let imported = self.imports.whole(&expr.path);
        let own = self.imports.declares(&expr.path) || banned::is_own(&expr.path);
        let verdict = banned::judge(imported.as_ref().unwrap_or(&expr.path), imported.is_some(), own);
        // Nothing is rewritten here, so that nobody can be asked what a short name means.
        let (ban, may_be_own) = match verdict {
            Some(Verdict::Refused { ban, may_be_own }) => (ban, may_be_own),
            Some(Verdict::Asked { ban, likely: true, .. }) if !own => (ban, true),
            _ => return,
        };
        self.found.push(Banned { path: expr.path.clone(), ban, may_be_own });
    }

    fn visit_block(&mut self, block: &'a Block) {
        let mark = self.imports.enter(block);
        visit::visit_block(self, block);
        self.imports.leave(&mark);
    }

    /// A macro that takes expressions is looked into, whatever it is called.
    fn visit_macro(&mut self, mac: &'a Macro) {
        if banned::prints(&mac.path) {
            self.found.push(Banned { path: mac.path.clone(), ban: &banned::PRINTS, may_be_own: false });
        }
        if let Ok(mut arguments) = syn::parse2::<Arguments>(mac.tokens.clone()) {
            for expr in arguments.exprs() {
                let mut within = Search { imports: self.imports.clone(), ..Search::default() };
                within.visit_expr(expr);
                self.found.append(&mut within.found);
            }
        }
        visit::visit_macro(self, mac);
    }

    fn visit_item(&mut self, _: &'a Item) {}
}
