//! The one traversal of a flow body: it finds the calls, records where they stand, builds the graph
//! and rewrites. It reports nothing: `rules` judges what was found.

mod calls;
mod cfgs;
mod closures;
mod exits;
mod futures;
mod inert;
mod loops;
mod macros;
mod reached;
mod regions;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit::Visit as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Block, Expr, ExprAsync, ExprBinary, ExprBlock, ExprBreak, ExprClosure, ExprConst,
    ExprContinue, ExprIf, ExprLet, ExprMatch, ExprPath, ExprRepeat, ExprReturn, ExprTry, FieldValue, Item,
    Local, Macro, Pat, PatIdent, Stmt,
};

use crate::item::{Param, mentions};
use crate::runtime_path::RuntimePath;

use super::calls::{self as read, Call};
use super::graph::{Bound, Builder, Node};
use super::imports::Imports;
use super::macros::{is_for_debugging, is_unbiased_select};
use super::scope::{Often, Scope};
use super::variation::Changes;
use super::{Finding, Survey, label};
use exits::Jump;
use futures::Futures;
use regions::Region;

/// Walks through a whole body.
pub(crate) fn walk(
    mut block: Block,
    ctx: &Ident,
    inputs: &[Param],
    runtime: &RuntimePath,
    held: &dyn Fn(&Call, usize) -> Option<TokenStream>,
) -> Survey {
    let mut walker = Walker {
        ctx,
        runtime,
        held,
        scope: Scope::default(),
        imports: Imports::default(),
        graph: Builder::new(),
        calls: Vec::new(),
        findings: Vec::new(),
        continuations: Vec::new(),
        futures: Futures::default(),
        regions: Vec::new(),
        jumps: Vec::new(),
        recorded: 0,
        called_once: false,
        awaits_head: false,
        asks: false,
        asked: Vec::new(),
        notes_lines: false,
        cfgs: Vec::new(),
    };
    for input in inputs {
        walker.scope.bind(input.ident.clone(), input.mutability.is_some());
    }
    walker.visit_block_mut(&mut block);
    walker.place_all_futures();
    walker.place_all_regions();
    Survey {
        block,
        calls: walker.calls,
        findings: walker.findings,
        continuations: walker.continuations,
        graph: walker.graph.close(),
        asks: walker.asks,
        asked: walker.asked,
        notes_lines: walker.notes_lines,
    }
}

struct Walker<'c> {
    ctx: &'c Ident,
    runtime: &'c RuntimePath,
    /// What goes into the body with a call.
    held: &'c dyn Fn(&Call, usize) -> Option<TokenStream>,
    scope: Scope,
    imports: Imports,
    graph: Builder,
    calls: Vec<Call>,
    findings: Vec<Finding>,
    continuations: Vec<ExprPath>,
    futures: Futures,
    /// The scopes that the body makes.
    regions: Vec<Region>,
    /// Where a `break` may go, outermost first.
    jumps: Vec<Jump>,
    /// How many `ctx.decide(..)` surround the place: what they compute is recorded, so that
    /// nothing is banned in them.
    recorded: usize,
    /// Whether the next closure has a name that is called at one place.
    called_once: bool,
    /// Whether the next path heads what is awaited.
    awaits_head: bool,
    /// Whether the compiler is asked of a path, and what can be asked elsewhere.
    asks: bool,
    asked: Vec<Expr>,
    notes_lines: bool,
    /// The conditions of compilation around the place.
    cfgs: Vec<Attribute>,
}

impl VisitMut for Walker<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) if futures::joins(call) => self.joining_call(call),
            Expr::Call(call) => {
                self.visit_expr_mut(&mut call.func);
                self.arguments(&mut call.args);
            }
            Expr::Await(awaited) => self.awaited(awaited),
            Expr::Array(array) => array.elems.iter_mut().for_each(|element| self.listed(element)),
            Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(|element| self.listed(element)),
            Expr::Path(path) => {
                self.visit_expr_path_mut(path);
                if let Some(asked) = self.reached(path) {
                    *expr = asked;
                }
            }
            Expr::ForLoop(_) | Expr::While(_) | Expr::Loop(_) => self.any_loop(expr),
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_expr_path_mut(&mut self, expr: &mut ExprPath) {
        let path = &expr.path;
        if path.is_ident(self.ctx) {
            self.findings.push(Finding::CtxMoved(path.segments[0].ident.clone()));
        }
        if let Some(name) = path.get_ident() {
            self.place_future(name);
        }
    }

    /// What is computed by the compiler reaches for nothing.
    fn visit_expr_const_mut(&mut self, _: &mut ExprConst) {}

    fn visit_expr_repeat_mut(&mut self, list: &mut ExprRepeat) {
        self.visit_expr_mut(&mut list.expr);
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        let label = format!("|{}|", label::of(&closure.inputs.to_token_stream()));
        let at = closure.inputs_begin.span;
        let mark = self.scope.mark();
        let notes_lines = closure.asyncness.is_some() && self.can_note_lines(&closure.body);
        let often = match std::mem::take(&mut self.called_once) {
            true => Often::Once,
            false if closure.inputs.is_empty() => Often::Unknown,
            false => Often::Each,
        };
        let changes = Changes::made_in(|changes| changes.visit_expr(&closure.body));
        self.scope.enter_closure(notes_lines, often, changes);
        self.graph.open();
        for input in &mut closure.inputs {
            self.visit_pat_mut(input);
        }
        let awaits = self.futures.awaits;
        self.visit_expr_mut(&mut closure.body);
        self.futures.awaits = awaits;
        let body = self.graph.close();
        self.scope.leave();
        self.scope.back_to(&mark);
        let bound = Bound::Bounded;
        let node = Node::Loop { label, name: None, at, bound, head_ends: true, body };
        self.graph.push_loop(node, false);
    }

    fn visit_expr_async_mut(&mut self, block: &mut ExprAsync) {
        self.async_block(block, true);
    }

    fn visit_expr_if_mut(&mut self, branch: &mut ExprIf) {
        let (label, at) = (label::of(&branch.cond.to_token_stream()), branch.if_token.span);
        let mark = self.scope.mark();
        self.visit_expr_mut(&mut branch.cond);
        self.graph.open();
        self.visit_block_mut(&mut branch.then_branch);
        let mut arms = vec![self.graph.close_arm("then")];
        self.scope.back_to(&mark);
        if let Some((_, otherwise)) = &mut branch.else_branch {
            self.graph.open();
            self.visit_expr_mut(otherwise);
            arms.push(self.graph.close_arm("else"));
        }
        self.graph.push_branch(label, at, arms.len() == 2, arms);
    }

    fn visit_expr_match_mut(&mut self, branch: &mut ExprMatch) {
        let label = label::of(&branch.expr.to_token_stream());
        let same = !self.scope.varies(&branch.expr, self.ctx);
        self.visit_expr_mut(&mut branch.expr);
        let mut arms = Vec::new();
        for arm in &mut branch.arms {
            let label = label::of(&arm.pat.to_token_stream());
            let mark = self.scope.mark();
            let attrs = std::mem::take(&mut arm.attrs);
            arms.push(self.arm_under(&attrs, |walker| {
                walker.graph.open();
                walker.visit_pat_mut(&mut arm.pat);
                if same {
                    walker.scope.same_since(&mark);
                }
                walker.visit_expr_mut(&mut arm.body);
                walker.graph.close_arm(label)
            }));
            arm.attrs = attrs;
            self.scope.back_to(&mark);
        }
        self.graph.push_branch(label, branch.match_token.span, true, arms);
    }

    fn visit_expr_let_mut(&mut self, binding: &mut ExprLet) {
        let same = !self.scope.varies(&binding.expr, self.ctx);
        self.visit_expr_mut(&mut binding.expr);
        let mark = self.scope.mark();
        self.visit_pat_mut(&mut binding.pat);
        if same {
            self.scope.same_since(&mark);
        }
    }

    fn visit_expr_return_mut(&mut self, exit: &mut ExprReturn) {
        let left = self.graph.has_left();
        visit_mut::visit_expr_return_mut(self, exit);
        // `return ctx.continue_as_new(..).await` leaves once.
        if left || !self.graph.has_left() {
            self.returned(exit.return_token.span);
        }
    }

    fn visit_expr_break_mut(&mut self, exit: &mut ExprBreak) {
        visit_mut::visit_expr_break_mut(self, exit);
        self.broke(exit.break_token.span, exit.label.as_ref());
    }

    fn visit_expr_continue_mut(&mut self, exit: &mut ExprContinue) {
        self.continued(exit.continue_token.span, exit.label.as_ref());
    }

    fn visit_expr_try_mut(&mut self, tried: &mut ExprTry) {
        let left = self.graph.has_left();
        visit_mut::visit_expr_try_mut(self, tried);
        if left || !self.graph.has_left() {
            self.tried(tried.question_token.span);
        }
        self.asked(&mut tried.expr);
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        let dropped = match &*stmt {
            Stmt::Local(Local { pat: Pat::Wild(_), init: Some(init), .. }) => Some(&*init.expr),
            Stmt::Expr(call, Some(_)) => Some(inert::dropping(call).unwrap_or(call)),
            _ => None,
        };
        let unawaited = dropped.and_then(|call| read::unawaited(call, self.ctx)).cloned();
        self.findings.extend(unawaited.map(Finding::NeverAwaited));
        self.under(&cfgs::attributes(stmt), |walker| visit_mut::visit_stmt_mut(walker, stmt));
        match stmt {
            Stmt::Local(Local { pat: Pat::Wild(_), init: Some(init), .. }) => self.dropped(&mut init.expr),
            Stmt::Expr(call, Some(_)) => self.left(call),
            _ => {}
        }
    }

    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        let attrs = field.attrs.clone();
        self.under(&attrs, |walker| visit_mut::visit_field_value_mut(walker, field));
    }

    fn visit_expr_block_mut(&mut self, block: &mut ExprBlock) {
        self.labelled_block(block);
    }

    fn visit_expr_binary_mut(&mut self, binary: &mut ExprBinary) {
        self.binary(binary);
    }

    fn visit_local_mut(&mut self, local: &mut Local) {
        if self.is_harmless(local) {
            return;
        }
        let is_clone = local
            .init
            .as_ref()
            .is_some_and(|init| matches!(*init.expr, Expr::MethodCall(_)) && self.is_handle(&init.expr));
        let same = local.init.as_ref().is_some_and(|init| !self.scope.varies(&init.expr, self.ctx));
        let scoped = self.scope_of(local);
        let held = read::held(local).filter(|held| !self.scope.calls_variable(&held.call));
        let pat = &local.pat;
        let label = label::of(&quote!(let #pat));
        if let Some(init) = &mut local.init {
            self.initialiser(&local.pat, &mut init.expr);
            if let Some((_, diverge)) = &mut init.diverge {
                self.graph.open();
                self.visit_expr_mut(diverge);
                let arms = vec![self.graph.close_arm("else")];
                self.graph.push_branch(label, local.let_token.span, false, arms);
            }
        }
        if let Some(scoped) = scoped {
            self.scoped(scoped);
        }
        let mark = self.scope.mark();
        self.visit_pat_mut(&mut local.pat);
        if let Some(made) = read::made(local) {
            self.scope.made(made);
        }
        if let Some(held) = held {
            let here = self.here();
            self.scope.holds(held, here);
        }
        if same {
            self.scope.same_since(&mark);
        }
        if is_clone {
            self.scope.stands_for_ctx(&local.pat);
        }
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        if pat.ident == *self.ctx {
            self.findings.push(Finding::CtxShadowed(pat.ident.clone()));
        }
        self.scope.bind(pat.ident.clone(), pat.mutability.is_some());
        visit_mut::visit_pat_ident_mut(self, pat);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let (mark, imported) = (self.scope.mark(), self.imports.enter(block));
        for at in 0..block.stmts.len() {
            let (so_far, rest) = block.stmts.split_at_mut(at + 1);
            self.called_once = so_far.last().is_some_and(|stmt| closures::is_called_once(stmt, rest));
            so_far.iter_mut().skip(at).for_each(|stmt| self.visit_stmt_mut(stmt));
        }
        self.scope.back_to(&mark);
        self.imports.leave(&imported);
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
        let imported = self.imports.whole(&mac.path);
        let is_random = is_unbiased_select(imported.as_ref().unwrap_or(&mac.path), &mac.tokens);
        if is_random {
            self.findings.push(Finding::UnbiasedSelect { mac: mac.path.clone() });
        }
        self.futures_in(&mac.tokens, &mac.path);
        let left_out = is_for_debugging(&mac.path) && mentions(&mac.tokens, self.ctx);
        match if left_out { None } else { self.read_macro(mac) } {
            Some(tokens) => mac.tokens = tokens,
            None if mentions(&mac.tokens, self.ctx) && !is_random => {
                self.findings.push(Finding::CtxInMacro { mac: mac.path.clone() });
            }
            None => {}
        }
        if exits::panics(&mac.path) {
            self.graph.leave();
        }
    }
}
