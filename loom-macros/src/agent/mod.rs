//! `#[agent]`: an `async fn` over `Ctx` becomes a flow that works with a model. It parses, is checked and
//! expands as `#[flow]` does, with the rules of an agent, and one more descriptor. There is no second engine.
//!
//! ```text
//! /// You answer customers.
//! #[agent(model = "small", tools = [order])]
//! async fn support(ctx: Ctx, question: String) -> Result<Answer, ShopError> { … }
//! ```
//!
//! leaves what `#[flow]` leaves, and beside it
//!
//! ```text
//! const _: () = { impl Agent for support { … }  … };
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

/// The whole macro: token stream in, token stream out.
pub(crate) fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => {
            let place = Place::function("agent");
            return item::unparsed(item, &error, codes::FLOW_NOT_ASYNC, &place, diagnostics);
        }
    };
    let model = model::Agent::new(parsed, &mut diagnostics);
    let name = model.flow.item.sig.ident.clone();
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
