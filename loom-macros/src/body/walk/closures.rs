//! Which closures run once: `let send = |line| ..;` is called at one place, as often as it is made. Not how often a closure
//! runs that is handed to a function.

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprClosure, ExprForLoop, ExprLoop, ExprPath, ExprWhile, Local, Macro, Pat, Stmt};

use crate::body::calls::{bare, path_of};
use crate::body::macros::{self, Arguments};
use crate::item::mentions;

/// Whether a statement makes a closure that the `rest` of its block calls at one place, and not in a loop.
pub(super) fn is_called_once(stmt: &Stmt, rest: &[Stmt]) -> bool {
    let Stmt::Local(Local { pat, init: Some(init), .. }) = stmt else { return false };
    let Pat::Ident(pat) = pat else { return false };
    if !matches!(bare(&init.expr), Expr::Closure(_)) {
        return false;
    }
    let mut uses = Uses { name: &pat.ident, repeated: false, calls: 0, others: 0 };
    rest.iter().for_each(|stmt| uses.visit_stmt(stmt));
    (uses.calls, uses.others) == (1, 0)
}

/// Where a name is used.
struct Uses<'n> {
    name: &'n Ident,
    /// Whether the place is in a loop or closure.
    repeated: bool,
    calls: usize,
    others: usize,
}

impl Uses<'_> {
    fn repeatedly(&mut self, visit: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.repeated, true);
        visit(self);
        self.repeated = around;
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        match path_of(call) {
            Some(path) if path.path.is_ident(self.name) && !self.repeated => self.calls += 1,
            _ => self.visit_expr(&call.func),
        }
        call.args.iter().for_each(|arg| self.visit_expr(arg));
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.others += usize::from(path.path.is_ident(self.name));
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        let read = macros::grammar(&mac.path).and_then(|_| syn::parse2::<Arguments>(mac.tokens.clone()).ok());
        match read {
            Some(mut arguments) => arguments.exprs().for_each(|expr| self.visit_expr(expr)),
            None => self.others += usize::from(mentions(&mac.tokens, self.name)),
        }
    }

    fn visit_expr_closure(&mut self, closure: &'ast ExprClosure) {
        self.repeatedly(|uses| visit::visit_expr_closure(uses, closure));
    }

    fn visit_expr_for_loop(&mut self, looped: &'ast ExprForLoop) {
        self.repeatedly(|uses| visit::visit_expr_for_loop(uses, looped));
    }

    fn visit_expr_while(&mut self, looped: &'ast ExprWhile) {
        self.repeatedly(|uses| visit::visit_expr_while(uses, looped));
    }

    fn visit_expr_loop(&mut self, looped: &'ast ExprLoop) {
        self.repeatedly(|uses| visit::visit_expr_loop(uses, looped));
    }
}
