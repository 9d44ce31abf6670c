//! What a flow or a part of one is, once its syntax is out of the way. The model holds faults as
//! well: `check.rs` reports them.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Block, FnArg, Ident, LitInt, LitStr, Pat, PatType, Stmt, token};

use crate::arguments::{self, EffectClasses, Paths, Read};
use crate::body::{Call, Survey};
use crate::diagnostics::Diagnostics;
use crate::item::{self, FnItem, Param};
use crate::names;
use crate::runtime_path::RuntimePath;
use crate::upcasts::Upcasts;

use super::parse::{FlowArgs, Parsed};
use super::{ceiling, named};

/// A flow, or a part of one.
pub(crate) struct Flow {
    pub(crate) item: FnItem,
    pub(crate) runtime: RuntimePath,
    pub(crate) kind: Kind,
    /// The name in logs.
    pub(crate) name: String,
    pub(crate) written_name: Option<LitStr>,
    /// Whether all arguments could be read.
    pub(crate) understood: bool,
    pub(crate) effects: Option<EffectClasses>,
    pub(crate) policies: Paths,
    /// What an agent says of how it works; it counts as its code.
    pub(crate) settings: TokenStream,
    /// A cron expression.
    pub(crate) schedule: Option<LitStr>,
    /// In whose local time it is read.
    pub(crate) time_zone: Option<LitStr>,
    /// The version of its input's shape; `None` for one that is no number from 1.
    pub(crate) version: Option<u32>,
    /// Where it is written, if it is.
    pub(crate) written_version: Option<LitInt>,
    pub(crate) upcasts: Upcasts,
    /// The policy on overlaps.
    pub(crate) overlap: Option<LitStr>,
    /// The policy on missed instants.
    pub(crate) catch_up: Option<LitStr>,
    /// The context's parameter, if the first is one.
    pub(crate) ctx: Option<Param>,
    /// The parameters behind it.
    pub(crate) inputs: Vec<Param>,
    /// The parameters behind it that are no plain names.
    pub(crate) unusable: Vec<FnArg>,
    /// The `#![..]` at the head of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The body, if it parses and the context has a name.
    pub(crate) survey: Option<Survey>,
}

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Flow,
    Part,
    /// A flow that works with a model.
    Agent,
}

impl Kind {
    /// The word for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Part => "part",
            Self::Agent => "agent",
        }
    }

    /// The word with its article.
    pub(crate) fn indefinite(self) -> &'static str {
        match self {
            Self::Flow => "a flow",
            Self::Part => "a part",
            Self::Agent => "an agent",
        }
    }

    /// The attribute that makes it.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Flow | Self::Part => "flow",
            Self::Agent => "agent",
        }
    }
}

impl Flow {
    pub(crate) fn new(parsed: Parsed, kind: Kind, diagnostics: &mut Diagnostics) -> Self {
        let Parsed { args: Read { args, understood }, item } = parsed;
        let FlowArgs {
            part: _,
            effects,
            policies,
            schedule,
            time_zone,
            overlap,
            catch_up,
            version,
            upcast,
            name: written_name,
            root,
        } = args;
        let ctx = context(&item);
        let behind = usize::from(ctx.is_some());
        let (mut inputs, mut unusable) = (Vec::new(), Vec::new());
        for arg in item.sig.inputs.iter().skip(behind) {
            match arg {
                FnArg::Typed(typed) if let Some(param) = Param::new(typed) => inputs.push(param),
                other => unusable.push(other.clone()),
            }
        }
        let runtime = RuntimePath::new(root.as_ref());
        let (inner_attrs, block) = match parse_body.parse2(item.body.stream()) {
            Ok((attrs, stmts)) => (attrs, Some(stmts)),
            Err(error) => {
                diagnostics.syntax(error, item.sig.ident.span());
                (Vec::new(), None)
            }
        };
        let survey = ctx.as_ref().zip(block).map(|(ctx, stmts)| {
            let brace_token = token::Brace { span: item.body.delim_span() };
            let held = |call: &Call, site: usize| {
                let held = effects.as_ref().and_then(|_| ceiling::held(call, &runtime));
                let items = held.into_iter().chain(named::beside(call, site, &runtime));
                items.reduce(|held, named| quote!(#held #named))
            };
            Survey::new(Block { brace_token, stmts }, &ctx.ident, &inputs, &runtime, &held)
        });
        Self {
            runtime,
            kind,
            name: written_name.as_ref().map_or_else(|| names::of(&item.sig.ident), LitStr::value),
            written_name,
            understood,
            effects,
            policies: policies.unwrap_or_default(),
            settings: TokenStream::new(),
            schedule,
            time_zone,
            version: arguments::check_version(version.as_ref(), diagnostics),
            written_version: version,
            upcasts: upcast.unwrap_or_default(),
            overlap,
            catch_up,
            ctx,
            inputs,
            unusable,
            inner_attrs,
            survey,
            item,
        }
    }

    /// The durable calls of the body.
    pub(crate) fn calls(&self) -> &[Call] {
        self.survey.as_ref().map_or(&[], |survey| &survey.calls)
    }

    /// The braces of the body and all between them, as written.
    pub(crate) fn raw_body(&self) -> TokenStream {
        TokenTree::Group(self.item.body.clone()).into()
    }
}

/// The first parameter, if it is `name: Ctx`.
fn context(item: &FnItem) -> Option<Param> {
    match item.sig.inputs.first()? {
        FnArg::Typed(typed) if item::type_is(&typed.ty, "Ctx") => context_param(typed),
        _ => None,
    }
}

/// `_: Ctx` has no name to follow, and none is needed: nothing can be called on it.
fn context_param(typed: &PatType) -> Option<Param> {
    if let Pat::Wild(wild) = &*typed.pat {
        return Some(Param {
            attrs: typed.attrs.clone(),
            mutability: None,
            ident: Ident::new("_ctx", wild.underscore_token.span),
            ty: (*typed.ty).clone(),
        });
    }
    Param::new(typed)
}

/// What is between the braces of a body.
fn parse_body(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Vec<Stmt>)> {
    Ok((input.call(Attribute::parse_inner)?, input.call(Block::parse_within)?))
}
