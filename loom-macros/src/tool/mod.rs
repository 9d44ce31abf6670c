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

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;
use crate::step;

/// The whole macro: token stream in, token stream out.
pub(crate) fn tool(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: Place::function("tool"),
        code: codes::STEP_NOT_ASYNC,
        keys: step::parse::StepArgs::KEYS,
        read: &|args, item, diagnostics| {
            Ok(step::model::Step::new(step::parse::parse(args, item, "tool", diagnostics)?, "tool"))
        },
        name: |model| Some(&model.item.sig.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
