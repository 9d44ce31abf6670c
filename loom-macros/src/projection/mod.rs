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
use quote::quote;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;

const PLACE: Place = Place {
    attribute: "projection",
    goes_on: "an `impl` block",
    example: "#[projection] impl Totals { #[on(OrderPlaced)] fn placed(&mut self, event: &OrderPlaced) { .. } }",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn projection(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => return item::unparsed(item, &error, codes::PROJECTION_ITEM, &PLACE, diagnostics),
    };
    let model = model::Projection::new(parsed, &mut diagnostics);
    let name = model.ident().cloned();
    let tokens = match check::check(model, diagnostics) {
        Ok(checked) => expand::expand(checked),
        Err(faulty) => {
            let (stub, errors) = (expand::stub(&faulty.model), faulty.errors);
            quote!(#errors #stub)
        }
    };
    if let Some(name) = name {
        printed::expansion(&name, &tokens);
    }
    tokens
}
