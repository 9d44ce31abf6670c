//! The arguments of `#[policy(..)]` and the item below it, as written. Nothing is judged here but the keys.

use proc_macro2::TokenStream;
use syn::{Item, LitStr};

use crate::arguments;
use crate::diagnostics::Diagnostics;
use crate::keys::keys;

const KEYS: &str = "`#[policy]` takes `name` and `crate`";

keys! {
    /// `#[policy(..)]`.
    pub(crate) struct PolicyArgs {
        /// The name, when it is not the item's: `name = "careful"`.
        pub(crate) name: Option<LitStr> = text,
        ..root
    }
}

/// A policy as written.
pub(crate) struct Parsed {
    pub(crate) args: PolicyArgs,
    pub(crate) item: Item,
}

/// Parses both halves. An item that has no value is an error.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    let item: Item = syn::parse2(item)?;
    if !matches!(item, Item::Const(_) | Item::Static(_) | Item::Fn(_)) {
        return Err(syn::Error::new_spanned(item, "this item has no value"));
    }
    Ok(Parsed { args: arguments::parse(args, KEYS, diagnostics).args, item })
}
