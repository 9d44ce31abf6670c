//! The arguments of `#[agent(..)]` and the item below it, with or without a body, as written. Nothing is
//! judged here but the keys.

use darling::FromMeta;
use proc_macro2::TokenStream;
use syn::{Lit, LitInt, LitStr, Path};

use crate::arguments::{self, EffectClasses, Paths};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;

const KEYS: &str = "`#[agent]` takes `model`, `tools = [..]`, `skills = [..]`, `max_turns`, \
    `budget(tokens, usd)`, `policies = [..]`, `effects(..)`, `name` and `crate`";

/// `#[agent(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct AgentArgs {
    #[darling(with = arguments::text)]
    pub(crate) model: Option<LitStr>,
    pub(crate) tools: Option<Paths>,
    pub(crate) skills: Option<Paths>,
    pub(crate) max_turns: Option<LitInt>,
    pub(crate) budget: Option<BudgetArgs>,
    pub(crate) policies: Option<Paths>,
    pub(crate) effects: Option<EffectClasses>,
    /// The name in logs, when it is not the function's.
    #[darling(with = arguments::text)]
    pub(crate) name: Option<LitStr>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// `budget(tokens = 50_000, usd = 0.5)`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct BudgetArgs {
    pub(crate) tokens: Option<LitInt>,
    pub(crate) usd: Option<Lit>,
}

/// An agent as written.
pub(crate) struct Parsed {
    pub(crate) args: AgentArgs,
    pub(crate) item: FnItem,
}

/// Parses both halves. Bad arguments are reported and replaced by the defaults; an item that is
/// not a function is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let item = syn::parse2(item)?;
    Ok(Parsed { args: arguments::parse(args, KEYS, diagnostics).args, item })
}
