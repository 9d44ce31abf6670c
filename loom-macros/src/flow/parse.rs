//! The arguments of `#[flow(..)]` and the item below it, as written. Nothing is judged here but
//! the keys.

use darling::ast::NestedMeta;
use darling::util::Flag;
use darling::{Error, FromMeta};
use proc_macro2::TokenStream;
use syn::{LitStr, Path};

use crate::arguments::EffectClasses;
use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::FnItem;

const KEYS: &str = "`#[flow]` takes `part`, `effects(..)`, `name` and `crate`";

/// `#[flow(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct FlowArgs {
    /// A part of a flow rather than one.
    pub(crate) part: Flag,
    /// The ceiling of effect classes.
    pub(crate) effects: Option<EffectClasses>,
    /// The name in logs, when it is not the function's.
    pub(crate) name: Option<LitStr>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// A flow as written.
pub(crate) struct Parsed {
    pub(crate) args: FlowArgs,
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
    let args = NestedMeta::parse_meta_list(args)
        .map_err(Error::from)
        .and_then(|list| FlowArgs::from_list(&list))
        .unwrap_or_else(|error| {
            diagnostics.arguments(codes::ARGUMENT, error, KEYS);
            FlowArgs::default()
        });
    Ok(Parsed { args, item })
}
