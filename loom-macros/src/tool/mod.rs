//! `#[tool]`: a step that models may ask for. It parses and expands as `#[step]` does, with the rules of what
//! a model must know, and one more descriptor.
//!
//! ```text
//! /// Look up an order.
//! #[tool(reads)]
//! async fn order(/** The number on the invoice. */ number: String) -> Result<Order, ShopError> { … }
//! ```
//!
//! leaves what `#[step]` leaves, and beside it
//!
//! ```text
//! const _: () = { impl Tool for order { … }  … };
//! ```

mod check;
mod expand;

use proc_macro2::TokenStream;
use quote::quote;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;
use crate::step;

/// The whole macro: token stream in, token stream out.
pub(crate) fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match step::parse::parse(args, item.clone(), "tool", &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => {
            let place = Place::function("tool");
            return item::unparsed(item, &error, codes::STEP_NOT_ASYNC, &place, diagnostics);
        }
    };
    let model = step::model::Step::new(parsed, "tool");
    let name = model.item.sig.ident.clone();
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
