//! The body of a flow that broke a rule, as its stub shows it to the compiler: as written, but for mistakes of which the
//! compiler would tell a second time in its own words. Not where they are reported.

use proc_macro2::{Group, TokenStream};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprMethodCall, Ident, Macro};

use super::calls::{self, Syscall};
use super::macros::Select;

/// The content of the braces without the contexts that are given to what is called, `ctx.part("h", helper(ctx, 1))`, the
/// awaits of what is handed on, `ctx.run(step(x).await)`, and a `select!` whose branches are none of ours; of what does not parse, all
/// of it.
pub(crate) fn stubbed(body: &Group, ctx: &Ident) -> TokenStream {
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
                self.found |= calls::unawaited_mut(called);
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

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        let is_select = mac.path.segments.last().is_some_and(|last| last.ident == "select");
        if is_select && syn::parse2::<Select>(mac.tokens.clone()).is_ok_and(|select| !select.is_known()) {
            self.found = true;
            mac.path = syn::parse_quote!(::core::unreachable);
            mac.tokens = TokenStream::new();
        }
    }
}
