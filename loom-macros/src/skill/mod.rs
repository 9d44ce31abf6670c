//! `#[skill]`: a unit struct becomes a skill, whose instructions are a file beside the source. It reads no
//! file: the compiler does, as for `include_str!`.
//!
//! ```text
//! /// When and how a customer gets money back.
//! #[skill(file = "refunds.md")]
//! struct Refunds;
//! ```
//!
//! leaves the struct, and beside it
//!
//! ```text
//! const _: () = { impl Skill for Refunds { … include_str!("refunds.md") … }  … };
//! ```

mod check;
mod expand;
mod model;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;

const PLACE: Place = Place {
    attribute: "skill",
    goes_on: "a unit struct",
    example: "#[skill(file = \"refunds.md\")] struct Refunds;",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn skill(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => return item::unparsed(item, &error, codes::SKILL_ITEM, &PLACE, diagnostics),
    };
    let model = model::Skill::new(parsed);
    let name = model.item.ident.clone();
    let tokens = match check::check(model, diagnostics) {
        Ok(checked) => expand::expand(checked),
        Err(faulty) => {
            let (stub, errors) = (expand::stub(&faulty.model), faulty.errors);
            quote!(#errors #stub)
        }
    };
    printed::expansion(&name, &tokens);
    tokens
}
