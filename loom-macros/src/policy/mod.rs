//! `#[policy]`: a `const`, a `static` or a `fn` that gives a `Policy` gets a name, by which flows and agents
//! refer to it. It never decides what is allowed: the value does.
//!
//! ```text
//! /// Reads, and writes nothing.
//! #[policy]
//! const READ_ONLY: Policy = Policy::new().deny(&["*.write"]);
//! ```
//!
//! leaves the constant, and a type of the same name:
//!
//! ```text
//! enum READ_ONLY {}
//! const _: () = { impl NamedPolicy for READ_ONLY { … }  … };
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
    attribute: "policy",
    goes_on: "a `const`, a `static` or a `fn`",
    example: "#[policy] const CAREFUL: Policy = Policy::new().deny(&[\"payments.write\"]);",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn policy(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: PLACE,
        code: codes::POLICY_ITEM,
        keys: parse::PolicyArgs::KEYS,
        read: &|args, item, diagnostics| Ok(model::Policy::new(parse::parse(args, item, diagnostics)?)),
        name: |model| Some(&model.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
