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
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;

/// The whole macro: token stream in, token stream out.
pub(crate) fn step(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), "step", &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => {
            let place = Place::function("step");
            return item::unparsed(item, &error, codes::STEP_NOT_ASYNC, &place, diagnostics);
        }
    };
    let model = model::Step::new(parsed, "step");
    let name = model.item.sig.ident.clone();
    let tokens = match check::check(model, diagnostics) {
        Ok(checked) => expand::expand(checked),
        Err(faulty) => {
            let (stub, errors) = (expand::stub(&faulty.model), faulty.errors);
            quote::quote!(#errors #stub)
        }
    };
    printed::expansion(&name, &tokens);
    tokens
}
