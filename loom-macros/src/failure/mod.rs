//! `#[derive(Failure)]`: an enum becomes the failure channel of steps and flows. It derives neither
//! serde nor a schema: those are the user's own.
//!
//! ```text
//! #[derive(Failure)]
//! enum ShopError {
//!     /// The card was declined.
//!     #[failure(permanent)] Declined,
//!     #[failure(engine)] Engine(EffectError),
//! }
//! ```
//!
//! leaves `impl Failure for ShopError`, whose `from_engine` makes the marked variant.

mod check;
mod expand;
mod model;
mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Diagnostics;
use crate::printed;

/// The whole macro: token stream in, token stream out.
pub(crate) fn failure(item: TokenStream) -> TokenStream {
    let input = match syn::parse2(item) {
        Ok(input) => input,
        // A derive leaves the item alone: only the error goes out.
        Err(error) => return error.to_compile_error(),
    };
    let mut diagnostics = Diagnostics::new();
    let parsed = parse::parse(input, &mut diagnostics);
    let name = parsed.ident.clone();
    let tokens = match check::check(model::Failure::new(parsed), diagnostics) {
        Ok(checked) => expand::expand(checked),
        Err(faulty) => {
            let (stub, errors) = (expand::stub(&faulty.model), faulty.errors);
            quote!(#errors #stub)
        }
    };
    printed::expansion(&name, &tokens);
    tokens
}
