//! The arguments of `#[step(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::{LitInt, LitStr};

use crate::arguments::{self, DurationText, EffectClasses};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;
use crate::keys::keys;

const KEYS: &str = "takes `pure`, `reads`, `at_most_once`, `retry(attempts, initial, max, factor)`, \
    `timeout`, `heartbeat`, `effects(..)`, `name` and `crate`";

keys! {
    /// `#[step(..)]`, `#[tool(..)]`.
    pub(crate) struct StepArgs {
        /// No effect at all: nothing need be durable before it starts.
        pub(crate) pure: Flag,
        /// Reads the outside world, changes nothing: delivered as `pure` is.
        pub(crate) reads: Flag,
        /// Never run twice; a crash in the middle waits for a verdict.
        pub(crate) at_most_once: Flag,
        /// How failures that may pass are retried: `retry`, `retry(attempts = 3, initial = "100ms")`.
        pub(crate) retry: Option<RetryArgs> => RetryArgs,
        /// The longest that one attempt may take: `timeout = "10s"`.
        pub(crate) timeout: Option<DurationText>,
        /// The longest that one attempt may be silent: `heartbeat = "5s"`.
        pub(crate) heartbeat: Option<DurationText>,
        /// The classes of what it touches: `effects("http", "payments.write")`.
        pub(crate) effects: Option<EffectClasses>,
        /// The name in logs, when it is not the function's: `name = "reserve-stock"`.
        pub(crate) name: Option<LitStr> = text,
        ..root
    }
}

keys! {
    /// `retry(..)`; what is not given has a default in the model.
    #[darling(from_word = || Ok(RetryArgs::default()))]
    pub(crate) struct RetryArgs {
        /// How many attempts there are at most: `attempts = 3`.
        pub(crate) attempts: Option<LitInt>,
        /// The pause after the first attempt: `initial = "100ms"`.
        pub(crate) initial: Option<DurationText>,
        /// The longest pause: `max = "60s"`.
        pub(crate) max: Option<DurationText>,
        /// By how much each pause is longer than the one before: `factor = 2`.
        pub(crate) factor: Option<LitInt>,
    }
}

/// A step as written.
pub(crate) type Parsed = arguments::Parsed<StepArgs, FnItem>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    attribute: &str,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, &format!("`#[{attribute}]` {KEYS}"), diagnostics)
}
