//! How the traversal treats calls, awaits and bindings of the context. What a call is, `body/calls.rs`
//! says.

use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprAwait, ExprMethodCall, Local, Pat, Token};

use crate::body::calls::{self, Call, Syscall};
use crate::body::scope::LineNotes;
use crate::body::{Finding, NEAR, rewrite};
use crate::item::mentions;

use super::Walker;

impl Walker<'_> {
    pub(super) fn method_call(&mut self, call: &mut ExprMethodCall) {
        let links = calls::chain(call, self.ctx);
        let Some(root) = links.first() else {
            self.visit_expr_mut(&mut call.receiver);
            self.arguments(&mut call.args);
            return;
        };
        let syscall = Syscall::of(&root.method);
        if root.method == "clone" && links.iter().any(|link| Syscall::of(&link.method).is_some()) {
            // `ctx.clone().run(..)`: the clone has no place.
            self.findings.push(Finding::CtxMoved(format_ident!("{}", self.ctx, span = root.method.span())));
        }
        let read = syscall.and_then(|syscall| {
            let earlier = self.calls.iter().filter(|earlier| earlier.syscall == syscall).count();
            Call::read(syscall, &links, earlier + 1, &self.scope, self.ctx)
        });
        self.chain_arguments(call, syscall == Some(Syscall::Decide));
        if let Some(read) = read {
            if let Some(node) = read.node() {
                self.graph.push(node);
            }
            let receiver = receiver_of(call);
            let indices = self.scope.indices(read.varies_by_id());
            *receiver = rewrite::at(receiver, self.calls.len(), &indices, (self.held)(&read));
            self.calls.push(read);
        }
    }

    /// Walks the arguments of every link of a chain, the innermost first.
    fn chain_arguments(&mut self, call: &mut ExprMethodCall, decides: bool) {
        let is_root = match &mut *call.receiver {
            Expr::MethodCall(inner) => {
                self.chain_arguments(inner, decides);
                false
            }
            _ => true,
        };
        let recorded = usize::from(is_root && decides);
        self.recorded += recorded;
        self.arguments(&mut call.args);
        self.recorded -= recorded;
    }

    pub(super) fn arguments(&mut self, args: &mut Punctuated<Expr, Token![,]>) {
        for arg in args {
            if calls::is_handle(arg, self.ctx) {
                self.findings.push(Finding::CtxHanded(arg.to_token_stream()));
            } else {
                self.visit_expr_mut(arg);
            }
        }
    }

    /// The two ways in which a `let` may hold `ctx` alone. `let ctx = ctx.clone();` is the same
    /// context under its name, for an `async move` block to take along; `let _ = ctx;` moves nothing.
    pub(super) fn is_harmless(&self, local: &Local) -> bool {
        let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) else { return false };
        match (&local.pat, &*init.expr) {
            (Pat::Ident(pat), Expr::MethodCall(call)) => {
                pat.ident == *self.ctx && call.method == "clone" && calls::is_ctx(&call.receiver, self.ctx)
            }
            (Pat::Wild(_), expr) => calls::is_ctx(expr, self.ctx),
            _ => false,
        }
    }

    pub(super) fn awaited(&mut self, awaited: &mut ExprAwait) {
        self.visit_expr_mut(&mut awaited.base);
        self.futures.awaits += 1;
        let handle = match self.scope.line_notes() {
            LineNotes::OwnHandle => {
                self.notes_lines = true;
                Ident::new(NEAR, Span::mixed_site())
            }
            LineNotes::Ctx => self.ctx.clone(),
            LineNotes::Nobody => return,
        };
        *awaited.base = rewrite::near(&awaited.base, &handle, awaited.await_token.span);
    }

    /// Whether the user's `ctx` can note lines within a block of its own: it is there already, and
    /// nothing further in may have taken it away.
    pub(super) fn can_note_lines(&self, body: &impl ToTokens) -> bool {
        let tokens = body.to_token_stream();
        mentions(&tokens, self.ctx) && !mentions(&tokens, &format_ident!("move"))
    }
}

/// What a chain of method calls hangs on.
fn receiver_of(call: &mut ExprMethodCall) -> &mut Expr {
    let mut receiver = &mut *call.receiver;
    while let Expr::MethodCall(inner) = receiver {
        receiver = &mut inner.receiver;
    }
    receiver
}
