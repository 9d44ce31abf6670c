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

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

const PLACE: Place = Place {
    attribute: "event",
    goes_on: "a struct or an enum",
    example: "#[event(name = \"order.placed\")] struct OrderPlaced { .. }",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn event(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: PLACE,
        code: codes::EVENT_ITEM,
        keys: parse::EventArgs::KEYS,
        read: &|args, item, diagnostics| {
            let parsed = parse::parse(args, item, diagnostics)?;
            Ok(model::Event::new(parsed, diagnostics))
        },
        name: |model| Some(&model.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
