//! `#[event]`: a struct or an enum becomes a domain event, which logs know by a declared name. It derives
//! neither serde nor a schema: those are the user's own.
//!
//! ```text
//! #[event(name = "order.placed", version = 2, upcast(1 => from_v1))]
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct OrderPlaced { … }
//! ```
//!
//! leaves the struct, and beside it
//!
//! ```text
//! const _: () = { impl DomainEvent for OrderPlaced { … }  … };
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
    attribute: "event",
    goes_on: "a struct or an enum",
    example: "#[event(name = \"order.placed\")] struct OrderPlaced { .. }",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn event(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => return item::unparsed(item, &error, codes::EVENT_ITEM, &PLACE, diagnostics),
    };
    let model = model::Event::new(parsed, &mut diagnostics);
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
