//! `#[projection]`: an `impl` block of folds makes its type a read model of logs. It never decides where the
//! state is kept.
//!
//! ```text
//! #[projection]
//! impl Totals {
//!     #[on(OrderPlaced)]
//!     fn placed(&mut self, event: &OrderPlaced) { self.placed += 1; }
//! }
//! ```
//!
//! leaves the block without the `#[on]`s, and beside it
//!
//! ```text
//! const _: () = { impl Projection for Totals { … fn fold(&mut self, fact: &Fact) … }  … };
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
    attribute: "projection",
    goes_on: "an `impl` block",
    example: "#[projection] impl Totals { #[on(OrderPlaced)] fn placed(&mut self, event: &OrderPlaced) { .. } }",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn projection(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: PLACE,
        code: codes::PROJECTION_ITEM,
        keys: parse::ProjectionArgs::KEYS,
        read: &|args, item, diagnostics| {
            let parsed = parse::parse(args, item, diagnostics)?;
            Ok(model::Projection::new(parsed, diagnostics))
        },
        name: |model| model.ident(),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
