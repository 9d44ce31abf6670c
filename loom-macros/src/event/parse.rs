//! The arguments of `#[event(..)]` and the type below it, as written. Nothing is judged here but the keys.

use darling::FromMeta;
use proc_macro2::TokenStream;
use syn::{DeriveInput, LitInt, LitStr, Path};

use crate::arguments;
use crate::diagnostics::Diagnostics;
use crate::upcasts::Upcasts;

const KEYS: &str = "`#[event]` takes `name`, `version`, `upcast(1 => from_v1, ..)` and `crate`";

/// `#[event(..)]`.
#[derive(Default, FromMeta)]
#[darling(default)]
pub(crate) struct EventArgs {
    /// The name in logs.
    pub(crate) name: Option<LitStr>,
    /// The version of the shape as it is.
    pub(crate) version: Option<LitInt>,
    pub(crate) upcast: Option<Upcasts>,
    #[darling(rename = "crate")]
    pub(crate) root: Option<Path>,
}

/// An event as written.
pub(crate) struct Parsed {
    /// `None` when they could not be read, which has been reported.
    pub(crate) args: Option<EventArgs>,
    pub(crate) input: DeriveInput,
    /// The item as it came.
    pub(crate) item: TokenStream,
}

/// Parses both halves. An item that is not a type is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let input = syn::parse2(item.clone())?;
    Ok(Parsed { args: arguments::parse(args, KEYS, diagnostics), input, item })
}
