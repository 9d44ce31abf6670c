//! The arguments of `#[event(..)]` and the type below it, as written. Nothing is judged here but the keys.

use proc_macro2::TokenStream;
use syn::{DeriveInput, LitInt, LitStr};

use crate::arguments::{self, Read};
use crate::diagnostics::Diagnostics;
use crate::keys::keys;
use crate::upcasts::Upcasts;

const KEYS: &str = "`#[event]` takes `name`, `version`, `upcast(1 => from_v1, ..)` and `crate`";

keys! {
    /// `#[event(..)]`.
    pub(crate) struct EventArgs {
        /// The name in logs: `name = "order.placed"`.
        pub(crate) name: Option<LitStr> = text,
        /// The version of the shape as it is: `version = 2`.
        pub(crate) version: Option<LitInt>,
        /// What reads older versions: `upcast(1 => from_v1)`.
        pub(crate) upcast: Option<Upcasts>,
        ..root
    }
}

/// An event as written.
pub(crate) struct Parsed {
    pub(crate) args: Read<EventArgs>,
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
