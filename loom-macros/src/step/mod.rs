//! `#[step]`: an `async fn` becomes an inert call and a type that implements `Step`. It never
//! decides how a step is run.
//!
//! ```text
//! #[step(timeout = "10s")]
//! async fn reserve(stock: Res<Warehouse>, sku: String) -> Result<Hold, ShopError> { … }
//! ```
//!
//! leaves a function, a type of the same name, and an anonymous constant that joins them:
//!
//! ```text
//! fn reserve(sku: String) -> StepCall<reserve> { … }
//! enum reserve {}
//! const _: () = { struct Input { sku: String }  impl Step for reserve { … }  … };
//! ```

pub(crate) mod check;
pub(crate) mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

/// The whole macro: token stream in, token stream out.
pub(crate) fn step(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: Place::function("step"),
        code: codes::STEP_NOT_ASYNC,
        keys: parse::StepArgs::KEYS,
        read: &|args, item, diagnostics| {
            Ok(model::Step::new(parse::parse(args, item, "step", diagnostics)?, "step"))
        },
        name: |model| Some(&model.item.sig.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
