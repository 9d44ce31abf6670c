//! The arguments of `#[flow(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::FromMeta;
use darling::util::Flag;
use proc_macro2::TokenStream;
use syn::{LitStr, Path};

use crate::arguments::{self, EffectClasses, Paths, Read};
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;

const KEYS: &str =
    "`#[flow]` takes `part`, `effects(..)`, `policies = [..]`, `schedule`, `time_zone`, `name` and `crate`";

/// `#[flow(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct FlowArgs {
    /// A part of a flow rather than one.
    pub(crate) part: Flag,
    /// The ceiling of effect classes.
    pub(crate) effects: Option<EffectClasses>,
    /// The policies that it is held to.
    pub(crate) policies: Option<Paths>,
    /// When it is started by itself: a cron expression.
    #[darling(with = arguments::text)]
    pub(crate) schedule: Option<LitStr>,
    /// In whose local time that is read.
    #[darling(with = arguments::text)]
    pub(crate) time_zone: Option<LitStr>,
    /// The name in logs, when it is not the function's.
    #[darling(with = arguments::text)]
    pub(crate) name: Option<LitStr>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// A flow as written.
pub(crate) struct Parsed {
    pub(crate) args: Read<FlowArgs>,
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
    Ok(Parsed { args: arguments::parse(args, KEYS, diagnostics), item })
}
