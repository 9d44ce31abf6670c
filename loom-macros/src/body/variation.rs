//! Whether an expression may differ from one repetition to the next, as far as syntax tells. No proof: what is not known to be
//! the same may differ, so that no good key is refused.

use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprLit, ExprMacro, ExprMethodCall, Ident, Lit, Path};

use super::calls::path_of;
use super::macros::Arguments;

/// Methods that give the same of the same.
const PURE: &[&str] = &[
    "as_bytes",
    "as_deref",
    "as_ref",
    "as_str",
    "clone",
    "cloned",
    "copied",
    "concat",
    "first",
    "into",
    "is_empty",
    "is_some",
    "join",
    "last",
    "len",
    "to_lowercase",
    "to_owned",
    "to_string",
    "to_uppercase",
    "to_vec",
    "trim",
    "unwrap",
    "unwrap_or",
    "unwrap_or_default",
];

/// Whether it may, where `differs` says so of a variable.
pub(super) fn may_differ(expr: &Expr, differs: &dyn Fn(&Ident) -> bool) -> bool {
    let mut search = Search { differs, found: false };
    search.visit_expr(expr);
    search.found
}

struct Search<'d> {
    differs: &'d dyn Fn(&Ident) -> bool,
    found: bool,
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        self.found |= path.get_ident().is_some_and(self.differs);
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        self.found |= !path_of(call).is_some_and(|path| converts(&path.path));
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.found |= !PURE.iter().any(|pure| call.method == pure);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_macro(&mut self, expr: &'ast ExprMacro) {
        let formats = expr.mac.path.segments.last().is_some_and(|last| last.ident == "format");
        let Some(mut arguments) =
            formats.then(|| syn::parse2::<Arguments>(expr.mac.tokens.clone()).ok()).flatten()
        else {
            self.found = true;
            return;
        };
        for argument in arguments.exprs() {
            match argument {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                    self.found |= captured_in(&text.value()).iter().any(self.differs);
                }
                other => self.visit_expr(other),
            }
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        // What is awaited was done elsewhere, and what is not understood may be anything.
        self.found |= matches!(expr, Expr::Await(_) | Expr::Verbatim(_) | Expr::Async(_) | Expr::Unsafe(_));
        visit::visit_expr(self, expr);
    }
}

/// Whether a function only makes a value of another type: a constructor, `String::from`.
fn converts(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| {
        last.ident == "from"
            || last.ident == "to_string"
            || last.ident.to_string().starts_with(char::is_uppercase)
    })
}

/// The names that `"{line} of {order:?}"` captures.
fn captured_in(format: &str) -> Vec<Ident> {
    let names = format.split('{').skip(1).filter_map(|rest| {
        let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        syn::parse_str::<Ident>(name).ok()
    });
    names.collect()
}
