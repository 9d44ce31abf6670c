//! The one traversal of a flow body: it finds the calls, records where they stand, builds the graph
//! and rewrites. It reports nothing: `rules` judges what was found.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Block, Expr, ExprAsync, ExprAwait, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprLoop, ExprMatch,
    ExprMethodCall, ExprPath, ExprReturn, ExprWhile, Item, Local, Macro, Pat, PatIdent, Token,
};

use crate::item::mentions;

use super::calls::{self, Call, Syscall};
use super::graph::{Arm, Builder, Node};
use super::macros::{self, Arguments, Grammar, Matches, Select, SelectHead};
use super::scope::{LineNotes, Scope};
use super::{Finding, NEAR, Survey, banned, label, rewrite};

/// Walks through a whole body.
pub(crate) fn walk(mut block: Block, ctx: &Ident) -> Survey {
    let mut walker = Walker {
        ctx,
        scope: Scope::default(),
        graph: Builder::new(),
        calls: Vec::new(),
        findings: Vec::new(),
        recorded: 0,
        notes_lines: false,
    };
    walker.visit_block_mut(&mut block);
    Survey {
        block,
        calls: walker.calls,
        findings: walker.findings,
        graph: walker.graph.close(),
        notes_lines: walker.notes_lines,
    }
}

struct Walker<'c> {
    ctx: &'c Ident,
    scope: Scope,
    graph: Builder,
    calls: Vec<Call>,
    findings: Vec<Finding>,
    /// How many `ctx.decide(..)` surround the place: what they compute is recorded, so that
    /// nothing is banned in them.
    recorded: usize,
    notes_lines: bool,
}

impl VisitMut for Walker<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) => {
                self.visit_expr_mut(&mut call.func);
                self.arguments(&mut call.args);
            }
            Expr::Await(awaited) => self.awaited(awaited),
            Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => self.any_loop(expr),
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_path_mut(&mut self, expr: &mut ExprPath) {
        let path = &expr.path;
        if path.is_ident(self.ctx) {
            self.findings.push(Finding::CtxMoved(path.segments[0].ident.clone()));
        }
        if self.recorded == 0
            && let Some(ban) = banned::ban(path)
        {
            self.findings.push(Finding::Banned { path: path.clone(), ban });
        }
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        let label = format!("|{}|", label::of(&closure.inputs.to_token_stream()));
        let at = closure.inputs_begin.span();
        let mark = self.scope.mark();
        let notes_lines = closure.asyncness.is_some() && self.can_note_lines(&closure.body);
        self.scope.enter_closure(notes_lines);
        self.graph.open();
        for input in &mut closure.inputs {
            self.visit_pat_mut(input);
        }
        self.visit_expr_mut(&mut closure.body);
        let body = self.graph.close();
        self.scope.leave();
        self.scope.back_to(&mark);
        self.graph.push_loop(label, at, body);
    }

    fn visit_expr_async_mut(&mut self, block: &mut ExprAsync) {
        let notes_lines = self.can_note_lines(&block.block);
        self.scope.enter_block(notes_lines);
        self.visit_block_mut(&mut block.block);
        self.scope.leave();
    }

    fn visit_expr_if_mut(&mut self, branch: &mut ExprIf) {
        let (label, at) = (label::of(&branch.cond.to_token_stream()), branch.if_token.span);
        let mark = self.scope.mark();
        self.visit_expr_mut(&mut branch.cond);
        self.graph.open();
        self.visit_block_mut(&mut branch.then_branch);
        let mut arms = vec![Arm { label: "then".to_owned(), body: self.graph.close() }];
        self.scope.back_to(&mark);
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.graph.open();
            self.visit_expr_mut(otherwise);
            arms.push(Arm { label: "else".to_owned(), body: self.graph.close() });
        }
        self.graph.push_branch(label, at, arms);
    }

    fn visit_expr_match_mut(&mut self, branch: &mut ExprMatch) {
        let label = label::of(&branch.expr.to_token_stream());
        self.visit_expr_mut(&mut branch.expr);
        let mut arms = Vec::new();
        for arm in &mut branch.arms {
            let label = label::of(&arm.pat.to_token_stream());
            let mark = self.scope.mark();
            self.graph.open();
            self.visit_pat_mut(&mut arm.pat);
            self.visit_expr_mut(&mut arm.body);
            arms.push(Arm { label, body: self.graph.close() });
            self.scope.back_to(&mark);
        }
        self.graph.push_branch(label, branch.match_token.span, arms);
    }

    fn visit_expr_let_mut(&mut self, binding: &mut ExprLet) {
        self.visit_expr_mut(&mut binding.expr);
        self.visit_pat_mut(&mut binding.pat);
    }

    fn visit_expr_return_mut(&mut self, exit: &mut ExprReturn) {
        visit_mut::visit_expr_return_mut(self, exit);
        if !self.scope.is_nested() {
            self.graph.push(Node::Return { at: exit.return_token.span });
        }
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if self.is_clone_of_ctx(local) {
            return;
        }
        let pat = &local.pat;
        let label = label::of(&quote!(let #pat));
        if let Some(init) = &mut local.init {
            self.visit_expr_mut(&mut init.expr);
            if let Some((_, diverge)) = &mut init.diverge {
                self.graph.open();
                self.visit_expr_mut(diverge);
                let arms = vec![Arm { label: "else".to_owned(), body: self.graph.close() }];
                self.graph.push_branch(label, local.let_token.span, arms);
            }
        }
        self.visit_pat_mut(&mut local.pat);
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        if pat.ident == *self.ctx {
            self.findings.push(Finding::CtxShadowed(pat.ident.clone()));
        }
        self.scope.bind(pat.ident.clone(), pat.mutability.is_some());
        visit_mut::visit_pat_ident_mut(self, pat);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let mark = self.scope.mark();
        visit_mut::visit_block_mut(self, block);
        self.scope.back_to(&mark);
    }

    /// An item within the body is not part of it; a macro's definition may bring `ctx` back in.
    fn visit_item_mut(&mut self, item: &mut Item) {
        if let Item::Macro(definition) = item
            && mentions(&definition.mac.tokens, self.ctx)
        {
            self.findings.push(Finding::CtxInMacro { mac: definition.mac.path.clone() });
        }
    }

    fn visit_macro_mut(&mut self, mac: &mut Macro) {
        if macros::is_unbiased_select(&mac.path, &mac.tokens) {
            self.findings.push(Finding::UnbiasedSelect { mac: mac.path.clone() });
        }
        match self.read_macro(mac) {
            Some(tokens) => mac.tokens = tokens,
            None if mentions(&mac.tokens, self.ctx) => {
                self.findings.push(Finding::CtxInMacro { mac: mac.path.clone() });
            }
            None => {}
        }
    }
}

/// Calls.
impl Walker<'_> {
    fn method_call(&mut self, call: &mut ExprMethodCall) {
        let links = calls::chain(call, self.ctx);
        let Some(root) = links.first() else {
            self.visit_expr_mut(&mut call.receiver);
            self.arguments(&mut call.args);
            return;
        };
        let syscall = Syscall::of(&root.method);
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
            *receiver = rewrite::at(receiver, self.calls.len(), &self.scope.indices());
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

    fn arguments(&mut self, args: &mut Punctuated<Expr, Token![,]>) {
        for arg in args {
            if calls::is_handle(arg, self.ctx) {
                self.findings.push(Finding::CtxHanded(arg.to_token_stream()));
            } else {
                self.visit_expr_mut(arg);
            }
        }
    }

    /// `let ctx = ctx.clone();`, the one way to bind the name again: it is the same context, for
    /// an `async move` block to take along.
    fn is_clone_of_ctx(&self, local: &Local) -> bool {
        let named = matches!(&local.pat, Pat::Ident(pat) if pat.ident == *self.ctx);
        let init = local.init.as_ref().filter(|init| init.diverge.is_none());
        named
            && init.is_some_and(|init| {
                matches!(&*init.expr, Expr::MethodCall(call)
            if call.method == "clone" && calls::is_ctx(&call.receiver, self.ctx))
            })
    }

    fn awaited(&mut self, awaited: &mut ExprAwait) {
        self.visit_expr_mut(&mut awaited.base);
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
    fn can_note_lines(&self, body: &impl ToTokens) -> bool {
        let tokens = body.to_token_stream();
        mentions(&tokens, self.ctx) && !mentions(&tokens, &format_ident!("move"))
    }
}

/// Loops.
impl Walker<'_> {
    fn any_loop(&mut self, expr: &mut Expr) {
        let counted = match expr {
            Expr::ForLoop(node) => self.for_loop(node),
            Expr::While(node) => self.while_loop(node),
            Expr::Loop(node) => self.bare_loop(node),
            _ => None,
        };
        if let Some(counted) = counted {
            *expr = counted;
        }
    }

    fn for_loop(&mut self, node: &mut ExprForLoop) -> Option<Expr> {
        let (pat, iterated) = (&node.pat, &node.expr);
        let label = label::of(&quote!(for #pat in #iterated));
        self.visit_expr_mut(&mut node.expr);
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        self.scope.enter_loop(false);
        self.graph.open();
        self.visit_pat_mut(&mut node.pat);
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.for_token.span);
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn while_loop(&mut self, node: &mut ExprWhile) -> Option<Expr> {
        let condition = &node.cond;
        let label = label::of(&quote!(while #condition));
        let (mark, depth) = (self.scope.mark(), self.scope.depth());
        self.scope.enter_loop(true);
        self.graph.open();
        self.visit_expr_mut(&mut node.cond);
        self.scope.leave_condition();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop(label, node.while_token.span);
        self.scope.back_to(&mark);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    fn bare_loop(&mut self, node: &mut ExprLoop) -> Option<Expr> {
        let depth = self.scope.depth();
        self.scope.enter_loop(false);
        self.graph.open();
        self.visit_block_mut(&mut node.body);
        let counted = self.leave_loop("loop".to_owned(), node.loop_token.span);
        counted.then(|| {
            rewrite::open_counted(&mut node.body, depth);
            rewrite::counted(&std::mem::take(&mut node.attrs), node, depth)
        })
    }

    /// Closes a loop; whether a call in it reads its index.
    fn leave_loop(&mut self, label: String, at: Span) -> bool {
        let body = self.graph.close();
        self.graph.push_loop(label, at, body);
        self.scope.leave()
    }
}

/// Macros.
impl Walker<'_> {
    /// Walks what a listed macro takes, and hands back its tokens; `None` when it is not read.
    fn read_macro(&mut self, mac: &Macro) -> Option<TokenStream> {
        let tokens = mac.tokens.clone();
        match macros::grammar(&mac.path)? {
            Grammar::Arguments => {
                let mut arguments: Arguments = syn::parse2(tokens).ok()?;
                for expr in arguments.exprs() {
                    self.visit_expr_mut(expr);
                }
                Some(arguments.into_token_stream())
            }
            Grammar::Join => {
                let mut futures: Arguments = syn::parse2(tokens).ok()?;
                let arms = futures.exprs().map(|future| self.arm(future)).collect();
                self.graph.push_parallel(mac.path.span(), arms);
                Some(futures.into_token_stream())
            }
            Grammar::Select => self.select(mac),
            Grammar::Matches => {
                let mut matches: Matches = syn::parse2(tokens).ok()?;
                let mark = self.scope.mark();
                self.visit_expr_mut(&mut matches.value);
                self.visit_pat_mut(&mut matches.pat);
                if let Some((_, guard)) = &mut matches.guard {
                    self.visit_expr_mut(guard);
                }
                self.scope.back_to(&mark);
                Some(matches.into_token_stream())
            }
            Grammar::Json => macros::json(tokens, &mut |expr| self.visit_expr_mut(expr)),
        }
    }

    fn select(&mut self, mac: &Macro) -> Option<TokenStream> {
        let mut select: Select = syn::parse2(mac.tokens.clone()).ok()?;
        let mut arms = Vec::new();
        for branch in &mut select.arms {
            let mark = self.scope.mark();
            self.graph.open();
            let label = match &mut branch.head {
                SelectHead::Else(_) => "else".to_owned(),
                SelectHead::Future { pat, future, condition, .. } => {
                    let label = label::of(&future.to_token_stream());
                    if let Some((_, _, condition)) = condition {
                        self.visit_expr_mut(condition);
                    }
                    self.visit_expr_mut(future);
                    self.visit_pat_mut(pat);
                    label
                }
            };
            self.visit_expr_mut(&mut branch.handler);
            arms.push(Arm { label, body: self.graph.close() });
            self.scope.back_to(&mark);
        }
        self.graph.push_parallel(mac.path.span(), arms);
        Some(select.into_token_stream())
    }

    /// One future of a join as an arm of the graph.
    fn arm(&mut self, future: &mut Expr) -> Arm {
        let label = label::of(&future.to_token_stream());
        self.graph.open();
        self.visit_expr_mut(future);
        Arm { label, body: self.graph.close() }
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
