//! The arguments of `#[skill(..)]` and the struct below it, as written. Nothing is judged here but the keys.

use proc_macro2::TokenStream;
use syn::{ItemStruct, LitStr};

use crate::arguments;
use crate::diagnostics::Diagnostics;
use crate::keys::keys;

const KEYS: &str = "`#[skill]` takes `file`, `name` and `crate`";

keys! {
    /// `#[skill(..)]`.
    pub(crate) struct SkillArgs {
        /// The file of the instructions, relative to that of the source: `file = "refunds.md"`.
        pub(crate) file: Option<LitStr> = text,
        /// The name, when it is not the struct's: `name = "refunds"`.
        pub(crate) name: Option<LitStr> = text,
        ..root
    }
}

/// A skill as written.
pub(crate) type Parsed = arguments::Parsed<SkillArgs, ItemStruct>;

/// Parses both halves.
pub(crate) fn parse(
    args: TokenStream,
    item: TokenStream,
    diagnostics: &mut Diagnostics,
) -> syn::Result<Parsed> {
    arguments::with_item(args, item, KEYS, diagnostics)
}
