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

mod check;
mod expand;
mod model;
mod parse;

use proc_macro2::TokenStream;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item;
use crate::printed;

/// The whole macro: token stream in, token stream out.
pub(crate) fn step(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => return item::unparsed(item, &error, codes::STEP_NOT_ASYNC, "step", diagnostics),
    };
    let model = model::Step::new(parsed);
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
