//! A body without the contexts that it gives to what it calls, `ctx.part("h", helper(ctx, 1))`: what the stub of a flow shows
//! the compiler, so that the mistake is told once. Not where it is reported.

use proc_macro2::{Group, TokenStream};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprMethodCall, Ident};

use super::calls::{self, Syscall};

/// The content of the braces, as written but for those; of what does not parse, all of it.
pub(crate) fn without_given_contexts(body: &Group, ctx: &Ident) -> TokenStream {
    let Ok(mut stmts) = Block::parse_within.parse2(body.stream()) else { return body.stream() };
    let mut without = Without { ctx, found: false };
    stmts.iter_mut().for_each(|stmt| without.visit_stmt_mut(stmt));
    if !without.found {
        return body.stream();
    }
    stmts.into_iter().map(|stmt| stmt.into_token_stream()).collect()
}

struct Without<'c> {
    ctx: &'c Ident,
    found: bool,
}

impl VisitMut for Without<'_> {
    fn visit_expr_method_call_mut(&mut self, call: &mut ExprMethodCall) {
        let calls_another = matches!(
            Syscall::of(&call.method),
            Some(Syscall::Run | Syscall::Part | Syscall::Call | Syscall::Spawn)
        );
        if calls_another && calls::is_ctx(&call.receiver, self.ctx) {
            for called in &mut call.args {
                if let Expr::Call(called) = calls::bare_mut(called) {
                    let args = std::mem::take(&mut called.args);
                    let before = args.len();
                    let given = |arg: &Expr| calls::is_handle(arg, self.ctx);
                    called.args = args.into_pairs().filter(|pair| !given(pair.value())).collect();
                    self.found |= called.args.len() < before;
                }
            }
        }
        visit_mut::visit_expr_method_call_mut(self, call);
    }
}
