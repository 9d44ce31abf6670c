//! How the traversal treats calls of which nothing is made: `step(x)?`, `let _ = step(x);`, `step(x);`. Whether a function
//! gives a step's call is for the types to say, in `loom-runtime/src/inert.rs`; what is awaited, they see by themselves.

use proc_macro2::{Ident, Span};
use quote::ToTokens as _;
use syn::{Expr, ExprCall};

use crate::body::{calls, rewrite};
use crate::item::mentions;

use super::Walker;

impl Walker<'_> {
    /// Has the type looked at of what `?` is asked of.
    pub(super) fn asked(&self, value: &mut Expr) {
        if let Some(call) = self.function_call(value) {
            *value = rewrite::asked(call, self.runtime);
        }
    }

    /// Has the type looked at of what is dropped.
    pub(super) fn dropped(&self, value: &mut Expr) {
        if let Some(call) = self.function_call(value) {
            *value = rewrite::dropped(call, self.runtime);
        }
    }

    /// Has the type looked at of what a statement leaves. The statement stays as it is, where it can: the compiler
    /// knows what must be used. What waits, or calls the context, cannot be written a second time.
    pub(super) fn left(&self, value: &mut Expr) {
        if let Some(dropped) = dropping_mut(value) {
            return self.asked(dropped);
        }
        let Some(call) = self.function_call(value) else { return };
        let args = call.args.to_token_stream();
        let waits = mentions(&args, &Ident::new("await", Span::mixed_site()));
        let again = !waits && !mentions(&args, self.ctx);
        *value = rewrite::left(call, again, self.runtime);
    }

    /// The call of a function, unless it is a constructor's, which makes no call, or a variable's, whose type may not be
    /// known yet.
    fn function_call<'e>(&self, value: &'e Expr) -> Option<&'e ExprCall> {
        let Expr::Call(call) = value else { return None };
        let path = &calls::path_of(call).filter(|_| call.attrs.is_empty())?.path;
        let constructs = path.segments.last()?.ident.to_string().starts_with(char::is_uppercase);
        let is_variable = path.get_ident().is_some_and(|name| self.scope.binds(name));
        (!constructs && !is_variable).then_some(call)
    }
}

/// The value that is dropped in `drop(value)`.
pub(super) fn dropping(expr: &Expr) -> Option<&Expr> {
    let Expr::Call(call) = expr else { return None };
    let path = &calls::path_of(call)?.path;
    let mut names = path.segments.iter().rev().map(|segment| &segment.ident);
    let drops = names.next()? == "drop" && names.next().is_none_or(|module| module == "mem");
    call.args.first().filter(|_| drops && call.args.len() == 1)
}

/// The same, to be written anew.
fn dropping_mut(expr: &mut Expr) -> Option<&mut Expr> {
    dropping(expr)?;
    let Expr::Call(call) = expr else { return None };
    call.args.first_mut()
}
