//! How the traversal gathers what is added to a `ctx.scope()`: the branches stand where they are added, and run side by
//! side where the scope is awaited. Only the graph is concerned, as in `futures`.

use proc_macro2::{Ident, Span};
use quote::ToTokens as _;
use syn::{Expr, ExprMethodCall, Local, Pat};

use crate::body::calls;
use crate::body::graph::{Arm, Policy, Together};
use crate::body::label;

use super::Walker;

/// A scope that the body makes.
pub(super) struct Region {
    name: Ident,
    at: Span,
    together: Together,
    /// Its branches, as far as they were seen when it was awaited.
    arms: Vec<Arm>,
    awaited: bool,
}

/// What the methods chained to a scope or a `ctx.parallel(..)` say of its branches.
pub(super) fn together<'e>(links: impl IntoIterator<Item = &'e ExprMethodCall>) -> Together {
    let mut together = Together::default();
    for link in links {
        match link.method.to_string().as_str() {
            "limit" => together.limit = link.args.first().map(|limit| label::of(&limit.to_token_stream())),
            "fail_fast" => together.policy = Some(Policy::FailFast),
            "drain" => together.policy = Some(Policy::Drain),
            "all" => together.policy = Some(Policy::All),
            "detach" => together.policy = Some(Policy::Detach),
            _ => {}
        }
    }
    together
}

impl Walker<'_> {
    /// `let mut scope = ctx.scope();`, or another name for one: `let scope = scope.limit(8);`.
    pub(super) fn scope_of(&self, local: &Local) -> Option<Scoped> {
        let pat = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pat => pat,
        };
        let Pat::Ident(name) = pat else { return None };
        let Expr::MethodCall(init) = &*local.init.as_ref()?.expr else { return None };
        let named = |made| Some(Scoped { name: name.ident.clone(), made });
        if let Some((region, links)) = self.on_region(init) {
            return if together(links).policy.is_none() { named(Made::Renamed(region)) } else { None };
        }
        match calls::chain(init, self.ctx).split_first() {
            Some((root, links))
                if root.method == "scope" && together(links.iter().copied()).policy.is_none() =>
            {
                named(Made::Anew(root.method.span(), together(links.iter().copied())))
            }
            _ => None,
        }
    }

    /// Notes it, once its initialiser has been walked.
    pub(super) fn scoped(&mut self, scoped: Scoped) {
        match scoped.made {
            Made::Renamed(region) => self.regions[region].name = scoped.name,
            Made::Anew(at, together) => self.regions.push(Region {
                name: scoped.name,
                at,
                together,
                arms: Vec::new(),
                awaited: false,
            }),
        }
    }

    /// `scope.add(..)`, `scope.limit(8).fail_fast()`; whether it was one.
    pub(super) fn region_call(&mut self, call: &mut ExprMethodCall) -> bool {
        let Some((region, links)) = self.on_region(call) else { return false };
        let said = together(links);
        let at = call.method.span();
        if call.method == "add" && call.args.len() == 1 {
            let arm = self.arm(&mut call.args[0]);
            self.graph.push_added(region, at, arm);
            return true;
        }
        self.chain_arguments(call, false, &Together::default());
        let policy = said.policy;
        self.regions[region].together.add(said);
        if policy.is_some() {
            self.place_region(region, at);
        }
        true
    }

    /// Scopes of which nobody says what becomes of them stand where the body ends.
    pub(super) fn place_all_regions(&mut self) {
        let exit = self.graph.exit();
        for region in 0..self.regions.len() {
            if !self.regions[region].awaited {
                self.place_region(region, self.regions[region].at);
            }
        }
        self.graph.back_to(exit);
    }

    fn place_region(&mut self, region: usize, at: Span) {
        let added = self.graph.take_added(region);
        let region = &mut self.regions[region];
        region.arms.extend(added);
        region.awaited = true;
        self.graph.push_parallel(at, region.together.clone(), region.arms.clone());
    }

    /// The scope that a chain of calls hangs on, by its name, with the links.
    fn on_region<'e>(&self, call: &'e ExprMethodCall) -> Option<(usize, Vec<&'e ExprMethodCall>)> {
        let mut links = vec![call];
        let mut receiver = &*call.receiver;
        while let Expr::MethodCall(inner) = receiver {
            links.push(inner);
            receiver = &inner.receiver;
        }
        let Expr::Path(path) = receiver else { return None };
        let name = path.path.get_ident().filter(|name| self.scope.binds(name))?;
        let region = self.regions.iter().rposition(|region| region.name == *name)?;
        Some((region, links))
    }
}

/// A name that a scope is given.
pub(super) struct Scoped {
    name: Ident,
    made: Made,
}

enum Made {
    Anew(Span, Together),
    Renamed(usize),
}
