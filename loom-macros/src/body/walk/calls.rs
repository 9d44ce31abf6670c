//! How the traversal treats calls, awaits and bindings of the context. What a call is, `body/calls.rs`
//! says.

use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, ExprAsync, ExprAwait, ExprMethodCall, Local, Pat, Token};

use crate::body::calls::{self, Call, Syscall};
use crate::body::graph::{Arm, Together};
use crate::body::label;
use crate::body::scope::{LineNotes, Place};
use crate::body::{Finding, NEAR, banned, rewrite};
use crate::item::mentions;

use super::Walker;
use super::regions::together;

/// What `ctx.timeout(limit, future)` is given.
pub(super) struct Limited {
    future: Arm,
    limit: String,
}

impl Walker<'_> {
    pub(super) fn method_call(&mut self, call: &mut ExprMethodCall) {
        let links = calls::chain(call, self.ctx);
        let Some(root) = links.first() else {
            if self.is_call_on_clone(call) {
                self.chain_arguments(call, false, &Together::default());
                return;
            }
            if self.region_call(call) {
                return;
            }
            self.visit_expr_mut(&mut call.receiver);
            self.arguments(&mut call.args);
            return;
        };
        if root.method == "continue_as_new" {
            let at = root.method.span();
            let named = root.args.first().and_then(calls::called_path);
            let named = named.filter(|path| path.path.get_ident().is_none_or(|name| !self.scope.binds(name)));
            self.continuations.extend(named.cloned());
            self.chain_arguments(call, false, &Together::default());
            return self.returned(at);
        }
        let syscall = Syscall::of(&root.method);
        if root.method == "clone" && links.iter().any(|link| Syscall::of(&link.method).is_some()) {
            // `ctx.clone().run(..)`: the clone has no place.
            self.findings.push(Finding::CtxMoved(format_ident!("{}", self.ctx, span = root.method.span())));
        }
        let read = syscall.and_then(|syscall| {
            let earlier = self.calls.iter().filter(|earlier| earlier.syscall == syscall).count();
            Call::read(syscall, &links, earlier + 1, &self.scope, &self.here(), self.ctx)
        });
        let said = together(links.iter().copied());
        let limited = self.chain_arguments(call, syscall == Some(Syscall::Decide), &said);
        if let Some(read) = read {
            match (read.node(), limited) {
                (Some(timer), Some(Limited { future, limit })) => {
                    let timer = Arm { label: limit, body: vec![timer], leaves: false, cfgs: Vec::new() };
                    self.graph.push_parallel(read.method.span(), Together::default(), vec![future, timer]);
                }
                (Some(node), None) => self.graph.push(node),
                (None, _) => {}
            }
            let (receiver, site) = (receiver_of(call), self.calls.len());
            let indices = self.scope.indices(read.varies_by_id());
            *receiver = rewrite::at(receiver, site, &indices, (self.held)(&read, site));
            self.calls.push(read);
        }
    }

    pub(super) fn here(&self) -> Place {
        Place { items: self.imports.count(), cfgs: self.cfgs.clone() }
    }

    /// Walks the arguments of every link of a chain, the innermost first. The future of a `timeout` at its root is
    /// handed back: it goes beside the timer. `said` is what the chain says of the branches of a `parallel` there.
    pub(super) fn chain_arguments(
        &mut self,
        call: &mut ExprMethodCall,
        decides: bool,
        said: &Together,
    ) -> Option<Limited> {
        let mut limited = None;
        let is_root = match calls::bare_mut(&mut call.receiver) {
            Expr::MethodCall(inner) => {
                limited = self.chain_arguments(inner, decides, said);
                false
            }
            _ => true,
        };
        let recorded = usize::from(is_root && decides);
        self.recorded += recorded;
        if is_root && matches!(call.method.to_string().as_str(), "run" | "part" | "call" | "spawn") {
            self.called(&call.method, &mut call.args);
        } else if is_root && call.method == "parallel" {
            self.side_by_side(&mut call.args, Some(call.method.span()), said);
        } else if is_root && call.method == "timeout" && call.args.len() == 2 {
            let limit = label::of(&call.args[0].to_token_stream());
            self.visit_expr_mut(&mut call.args[0]);
            limited = Some(Limited { future: self.arm(&mut call.args[1]), limit });
        } else {
            self.arguments(&mut call.args);
        }
        self.recorded -= recorded;
        limited
    }

    /// Walks the arguments of `run`, `part` and the like. What is called there is a step or a part, as the types say, so that a
    /// step `sleep` of the user's own module `time` is not taken for a timer.
    fn called(&mut self, method: &Ident, args: &mut Punctuated<Expr, Token![,]>) {
        for arg in args {
            if self.is_handle(arg) {
                self.findings.push(Finding::CtxHanded(arg.to_token_stream()));
                continue;
            }
            match calls::bare_mut(arg) {
                Expr::Call(call)
                    if let Some(callee) =
                        calls::path_of(call).filter(|path| !banned::is_foreign(&path.path)).cloned() =>
                {
                    self.recorded += 1;
                    self.visit_expr_mut(&mut call.func);
                    self.recorded -= 1;
                    for arg in &mut call.args {
                        if self.is_handle(arg) {
                            self.findings.push(Finding::CtxGiven {
                                argument: arg.to_token_stream(),
                                method: method.clone(),
                                callee: callee.clone(),
                            });
                        } else {
                            self.listed(arg);
                        }
                    }
                }
                bare => self.visit_expr_mut(bare),
            }
        }
    }

    /// Notes `c.run(..)` after `let c = ctx.clone();`, with all that is chained to it.
    fn is_call_on_clone(&mut self, call: &ExprMethodCall) -> bool {
        let mut methods = vec![&call.method];
        let mut receiver = calls::bare(&call.receiver);
        while let Expr::MethodCall(inner) = receiver {
            methods.push(&inner.method);
            receiver = calls::bare(&inner.receiver);
        }
        let Expr::Path(path) = receiver else { return false };
        let Some(name) = path.path.get_ident().filter(|name| self.scope.is_ctx(name)) else { return false };
        let durable = |method: &&Ident| Syscall::of(method).is_some_and(|syscall| !syscall.is_synchronous());
        let is_durable = methods.iter().any(durable);
        if is_durable {
            let named = methods.iter().any(|method| **method == "id");
            self.findings.push(Finding::CtxCloned { name: name.clone(), named });
        }
        is_durable
    }

    /// Whether an expression is the context, whatever it is called: a reference to it, or a clone.
    pub(super) fn is_handle(&self, expr: &Expr) -> bool {
        calls::is_handle(expr, self.ctx)
            || calls::handle_name(expr).is_some_and(|name| self.scope.is_ctx(name))
    }

    pub(super) fn arguments(&mut self, args: &mut Punctuated<Expr, Token![,]>) {
        for arg in args {
            if self.is_handle(arg) {
                self.findings.push(Finding::CtxHanded(arg.to_token_stream()));
            } else {
                self.listed(arg);
            }
        }
    }

    /// The two ways in which a `let` may hold `ctx` alone. `let ctx = ctx.clone();` and `let ctx = &ctx;` are the same
    /// context under its name, for an `async move` block to take along; `let _ = ctx;` moves nothing.
    pub(super) fn is_harmless(&self, local: &Local) -> bool {
        let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) else { return false };
        match (&local.pat, &*init.expr) {
            (Pat::Ident(pat), expr) => pat.ident == *self.ctx && calls::is_handle(expr, self.ctx),
            (Pat::Wild(_), expr) => calls::is_ctx(expr, self.ctx),
            _ => false,
        }
    }

    pub(super) fn awaited(&mut self, awaited: &mut ExprAwait) {
        self.awaits_head = calls::heads_with_call(&awaited.base);
        match calls::bare_mut(&mut awaited.base) {
            Expr::Async(block) => self.async_block(block, false),
            base => self.visit_expr_mut(base),
        }
        self.futures.awaits += 1;
        let handle = match self.scope.line_notes() {
            LineNotes::OwnHandle => {
                self.notes_lines = true;
                Ident::new(NEAR, Span::mixed_site())
            }
            LineNotes::Ctx => self.ctx.clone(),
            LineNotes::Nobody => return,
        };
        // What the compiler is asked of already, it need not tell twice.
        let asked = matches!(calls::bare_mut(&mut awaited.base), Expr::Call(call) if matches!(*call.func, Expr::Verbatim(_)));
        let runtime = (!asked).then_some(self.runtime);
        *awaited.base = rewrite::near(&awaited.base, &handle, awaited.await_token.span, runtime);
    }

    /// An `async` block; whether it runs `later` than where it is made.
    pub(super) fn async_block(&mut self, block: &mut ExprAsync, later: bool) {
        let notes_lines = self.can_note_lines(&block.block);
        let awaits = self.futures.awaits;
        self.scope.enter_block(notes_lines, later);
        self.graph.open();
        self.visit_block_mut(&mut block.block);
        // Leaving the block leaves nothing around it.
        let body = self.graph.close();
        self.graph.extend(body);
        self.scope.leave();
        self.futures.awaits = awaits;
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
    match calls::bare_mut(&mut call.receiver) {
        Expr::MethodCall(inner) => receiver_of(inner),
        receiver => receiver,
    }
}
