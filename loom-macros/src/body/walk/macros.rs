//! How the traversal goes through the macros that are read. Which those are, and what they take,
//! `body/macros.rs` says.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned as _;
use syn::visit_mut::VisitMut as _;
use syn::{Expr, Macro};

use crate::body::graph::{Arm, Together};
use crate::body::macros::{self, Arguments, Grammar, Matches, Select, SelectHead};
use crate::body::{Finding, label, rewrite};

use super::{Walker, cfgs};

impl Walker<'_> {
    /// Walks what a listed macro takes, and hands back its tokens; `None` when it is not read.
    pub(super) fn read_macro(&mut self, mac: &mut Macro) -> Option<TokenStream> {
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
                self.futures.awaits += 1;
                let arms = futures.exprs().map(|future| self.arm(future)).collect();
                self.graph.push_parallel(mac.path.span(), Together::default(), arms);
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

    fn select(&mut self, mac: &mut Macro) -> Option<TokenStream> {
        let mut select: Select = syn::parse2(mac.tokens.clone()).ok()?;
        let imported = self.imports.whole(&mac.path);
        let is_told = macros::is_unbiased_select(imported.as_ref().unwrap_or(&mac.path), &mac.tokens);
        self.futures.awaits += 1;
        let mut arms = Vec::new();
        for branch in &mut select.arms {
            let mark = self.scope.mark();
            self.graph.open();
            let label = match &mut branch.head {
                SelectHead::Else(_) => "else".to_owned(),
                SelectHead::Word(word) => {
                    if !is_told {
                        self.findings.push(Finding::SelectWord(word.clone()));
                    }
                    word.to_string()
                }
                SelectHead::Bare(future) => {
                    if !is_told {
                        self.findings.push(Finding::SelectBare(future.to_token_stream()));
                    }
                    self.visit_expr_mut(future);
                    label::of(&future.to_token_stream())
                }
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
            arms.push(self.graph.close_arm(label));
            self.scope.back_to(&mark);
        }
        self.graph.push_parallel(mac.path.span(), Together::default(), arms);
        if mac.path.is_ident("select") && imported.is_none() {
            rewrite::biased(mac, &mut select, self.runtime);
        }
        Some(select.into_token_stream())
    }

    /// One future of a join as an arm of the graph.
    pub(super) fn arm(&mut self, future: &mut Expr) -> Arm {
        let label = label::of(&cfgs::split(future).1);
        self.graph.open();
        self.visit_expr_mut(future);
        self.graph.close_arm(label)
    }
}
