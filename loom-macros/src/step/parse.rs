//! The arguments of `#[step(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::{LitInt, LitStr, Path};

use crate::arguments::{self, DurationText, EffectClasses};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;

const KEYS: &str = "takes `pure`, `reads`, `at_most_once`, `retry(attempts, initial, max, factor)`, \
    `timeout`, `heartbeat`, `effects(..)`, `name` and `crate`";

/// `#[step(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct StepArgs {
    /// No effect at all: nothing need be durable before it starts.
    pub(crate) pure: Flag,
    /// Reads the outside world, changes nothing: delivered as `pure` is.
    pub(crate) reads: Flag,
    /// Never run twice; a crash in the middle waits for a verdict.
    pub(crate) at_most_once: Flag,
    pub(crate) retry: Option<RetryArgs>,
    pub(crate) timeout: Option<DurationText>,
    pub(crate) heartbeat: Option<DurationText>,
    pub(crate) effects: Option<EffectClasses>,
    /// The name in logs, when it is not the function's.
    #[darling(with = arguments::text)]
    pub(crate) name: Option<LitStr>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// `retry(..)`; what is not given has a default in the model.
#[derive(Default, FromMeta)]
#[darling(default, from_word = || Ok(RetryArgs::default()))]
pub(crate) struct RetryArgs {
    pub(crate) attempts: Option<LitInt>,
    pub(crate) initial: Option<DurationText>,
    pub(crate) max: Option<DurationText>,
    pub(crate) factor: Option<LitInt>,
}

/// A step as written.
pub(crate) struct Parsed {
    pub(crate) args: StepArgs,
    pub(crate) item: FnItem,
}

/// Parses both halves. Bad arguments are reported and replaced by the defaults; an item that is
/// not a function is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    attribute: &str,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let item = syn::parse2(item)?;
    let args = arguments::parse(args, &format!("`#[{attribute}]` {KEYS}"), diagnostics).args;
    Ok(Parsed { args, item })
}
