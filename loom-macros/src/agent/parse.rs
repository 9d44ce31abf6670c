//! The arguments of `#[agent(..)]` and the item below it, with or without a body, as written. Nothing is
//! judged here but the keys.

use proc_macro2::TokenStream;
use syn::{Lit, LitInt, LitStr};

use crate::arguments::{self, EffectClasses, Paths};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;
use crate::keys::keys;
use crate::upcasts::Upcasts;

const KEYS: &str = "`#[agent]` takes `model`, `tools = [..]`, `skills = [..]`, `max_turns`, \
    `budget(tokens, usd)`, `policies = [..]`, `effects(..)`, `version`, `upcast(1 => from_v1, ..)`, `name` and `crate`";

keys! {
    /// `#[agent(..)]`.
    pub(crate) struct AgentArgs {
        /// The model, by the name under which the program knows it: `model = "small"`.
        pub(crate) model: Option<LitStr> = text,
        /// The tools that it may call: `tools = [find_order]`.
        pub(crate) tools: Option<Paths>,
        /// The skills that it may look up: `skills = [Refunds]`.
        pub(crate) skills: Option<Paths>,
        /// How many turns it may take: `max_turns = 8`.
        pub(crate) max_turns: Option<LitInt>,
        /// What it may use up: `budget(tokens = 50_000, usd = 0.25)`.
        pub(crate) budget: Option<BudgetArgs> => BudgetArgs,
        /// The policies that it is held to: `policies = [READ_ONLY]`.
        pub(crate) policies: Option<Paths>,
        /// The ceiling of effect classes: `effects("http", "mail.*")`.
        pub(crate) effects: Option<EffectClasses>,
        /// The version of its input's shape as it is: `version = 2`.
        pub(crate) version: Option<LitInt>,
        /// What reads inputs of older versions: `upcast(1 => from_v1)`.
        pub(crate) upcast: Option<Upcasts>,
        /// The name in logs, when it is not the function's: `name = "front-desk"`.
        pub(crate) name: Option<LitStr> = text,
        ..root
    }
}

keys! {
    /// `budget(tokens = 50_000, usd = 0.5)`.
    pub(crate) struct BudgetArgs {
        /// Tokens, of input and output together: `tokens = 50_000`.
        pub(crate) tokens: Option<LitInt>,
        /// Dollars, with at most six decimals: `usd = 0.25`.
        pub(crate) usd: Option<Lit>,
    }
}

/// An agent as written.
pub(crate) type Parsed = arguments::Parsed<AgentArgs, FnItem>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, KEYS, diagnostics)
}
