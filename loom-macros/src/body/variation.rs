//! Whether an expression may differ from one repetition to the next, as far as syntax tells. No proof: what is not known to be
//! the same may differ, so that no good key is refused.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprAssign, ExprBinary, ExprCall, ExprLit, ExprMacro, ExprMethodCall, ExprReference, Ident,
    Lit, Macro, PatIdent, Path,
};

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
        let Some(mut arguments) =
            formats(&expr.mac).then(|| syn::parse2::<Arguments>(expr.mac.tokens.clone()).ok()).flatten()
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

fn formats(mac: &Macro) -> bool {
    mac.path.segments.last().is_some_and(|last| last.ident == "format")
}

/// Which variables a loop or closure may change in each of its rounds.
#[derive(Default)]
pub(crate) struct Changes {
    /// Those that are assigned or lent to be changed, by whatever name they are held.
    assigned: Vec<Ident>,
    /// Those that it calls a method on, or hands to a macro: if they are `mut`, these may change them.
    used: Vec<Ident>,
    /// Whether a pattern lends out something, nobody knows what.
    any: bool,
}

impl Changes {
    /// Those that these make, the condition of a loop and its body say.
    pub(super) fn made_in(parts: impl FnOnce(&mut Self)) -> Self {
        let mut changes = Self::default();
        parts(&mut changes);
        changes
    }

    /// Whether a variable is among them.
    pub(super) fn of(&self, name: &Ident, mutable: bool) -> bool {
        self.any || self.assigned.contains(name) || mutable && self.used.contains(name)
    }
}

impl<'ast> Visit<'ast> for Changes {
    fn visit_expr_assign(&mut self, assign: &'ast ExprAssign) {
        named_in(&assign.left, &mut self.assigned);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        use BinOp::{
            AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign,
            ShrAssign, SubAssign,
        };
        if matches!(
            binary.op,
            AddAssign(_)
                | SubAssign(_)
                | MulAssign(_)
                | DivAssign(_)
                | RemAssign(_)
                | BitAndAssign(_)
                | BitOrAssign(_)
                | BitXorAssign(_)
                | ShlAssign(_)
                | ShrAssign(_)
        ) {
            named_in(&binary.left, &mut self.assigned);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_reference(&mut self, reference: &'ast ExprReference) {
        if reference.mutability.is_some() {
            named_in(&reference.expr, &mut self.assigned);
        }
        visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if !PURE.iter().any(|pure| call.method == pure) {
            named_in(&call.receiver, &mut self.used);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        if !formats(mac) {
            idents(mac.tokens.clone(), &mut self.used);
        }
    }

    fn visit_pat_ident(&mut self, pat: &'ast PatIdent) {
        self.any |= pat.by_ref.is_some() && pat.mutability.is_some();
        visit::visit_pat_ident(self, pat);
    }
}

/// The variables behind a place, `n` in `*n`, `n.count`, `n[0]`, `(n, m)`.
fn named_in(place: &Expr, names: &mut Vec<Ident>) {
    match place {
        Expr::Path(path) => names.extend(path.path.get_ident().cloned()),
        Expr::Field(field) => named_in(&field.base, names),
        Expr::Index(index) => named_in(&index.expr, names),
        Expr::Unary(unary) => named_in(&unary.expr, names),
        Expr::Reference(reference) => named_in(&reference.expr, names),
        Expr::Paren(paren) => named_in(&paren.expr, names),
        Expr::Group(group) => named_in(&group.expr, names),
        Expr::MethodCall(call) => named_in(&call.receiver, names),
        Expr::Try(tried) => named_in(&tried.expr, names),
        Expr::Tuple(tuple) => tuple.elems.iter().for_each(|place| named_in(place, names)),
        Expr::Array(array) => array.elems.iter().for_each(|place| named_in(place, names)),
        Expr::Call(call) => call.args.iter().for_each(|place| named_in(place, names)),
        Expr::Struct(made) => made.fields.iter().for_each(|field| named_in(&field.expr, names)),
        _ => {}
    }
}

fn idents(tokens: TokenStream, names: &mut Vec<Ident>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => names.push(name),
            TokenTree::Group(group) => idents(group.stream(), names),
            _ => {}
        }
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
