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
use quote::quote;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;

const PLACE: Place = Place {
    attribute: "policy",
    goes_on: "a `const`, a `static` or a `fn`",
    example: "#[policy] const CAREFUL: Policy = Policy::new().deny(&[\"payments.write\"]);",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn policy(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => return item::unparsed(item, &error, codes::POLICY_ITEM, &PLACE, diagnostics),
    };
    let model = model::Policy::new(parsed);
    let name = model.ident.clone();
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
