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

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

const PLACE: Place = Place {
    attribute: "skill",
    goes_on: "a unit struct",
    example: "#[skill(file = \"refunds.md\")] struct Refunds;",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn skill(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: PLACE,
        code: codes::SKILL_ITEM,
        keys: parse::SkillArgs::KEYS,
        read: &|args, item, diagnostics| Ok(model::Skill::new(parse::parse(args, item, diagnostics)?)),
        name: |model| Some(&model.item.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
