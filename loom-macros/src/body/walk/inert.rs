//! How the traversal treats calls of which nothing is made: `step(x)?`, `let _ = step(x);`, `step(x);`. Whether a function
//! gives a step's call is for the types to say, in `loom-runtime/src/inert.rs`; what is awaited, they see by themselves.

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprCall, ExprMethodCall, Path};

use crate::body::calls::{self, Syscall};
use crate::body::rewrite;

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

    /// Whether what is called is handed to `ctx.run` and the like elsewhere. Of any other statement the value is left to
    /// the compiler, which knows what must be used.
    pub(super) fn is_inert(&self, value: &Expr) -> bool {
        self.function_call(value).and_then(calls::path_of).is_some_and(|path| self.run.contains(path))
    }

    /// The call of a function, unless it is a constructor's, which makes no call, or a variable's, whose type may not be
    /// known yet.
    fn function_call<'e>(&self, value: &'e Expr) -> Option<&'e ExprCall> {
        let Expr::Call(call) = value else { return None };
        let path = calls::path_of(call).filter(|_| call.attrs.is_empty())?;
        let constructs = path.segments.last()?.ident.to_string().starts_with(char::is_uppercase);
        let is_variable = path.get_ident().is_some_and(|name| self.scope.binds(name));
        (!constructs && !is_variable).then_some(call)
    }
}

/// What is handed to `ctx.run`, `ctx.part`, `ctx.call` and `ctx.spawn` in a body, as it is written there.
pub(super) fn run_in(block: &Block, ctx: &Ident) -> Vec<Path> {
    struct Run<'c> {
        ctx: &'c Ident,
        found: Vec<Path>,
    }

    impl<'ast> Visit<'ast> for Run<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
            if calls::is_ctx(&call.receiver, self.ctx) {
                let argument = match Syscall::of(&call.method) {
                    Some(Syscall::Run | Syscall::Call | Syscall::Spawn) => call.args.first(),
                    Some(Syscall::Part) => call.args.get(1),
                    _ => None,
                };
                self.found.extend(argument.and_then(calls::called_path).cloned());
            }
            visit::visit_expr_method_call(self, call);
        }
    }

    let mut run = Run { ctx, found: Vec::new() };
    run.visit_block(block);
    run.found
}
