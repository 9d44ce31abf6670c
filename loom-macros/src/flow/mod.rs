//! `#[flow]` and `#[flow(part)]`: an `async fn` over `Ctx` becomes an inert call and a type that
//! implements `Flow` or `Part`. It never decides how a flow is driven.
//!
//! ```text
//! #[flow]
//! async fn checkout(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
//!     ctx.run(charge(order)).await
//! }
//! ```
//!
//! leaves a function and a type `checkout`, and the body with each call knowing its place:
//!
//! ```text
//! ctx.__at(&__LOOM_SITES[0], &[]).run(charge(order)) …
//! ```

pub(crate) mod ceiling;
pub(crate) mod check;
pub(crate) mod expand;
pub(crate) mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;
use quote::quote;

use crate::codes;
use crate::diagnostics::Diagnostics;
use crate::item::{self, Place};
use crate::printed;

use model::Kind;

/// The whole macro: token stream in, token stream out.
pub(crate) fn flow(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let parsed = match parse::parse(args, item.clone(), &mut diagnostics) {
        Ok(parsed) => parsed,
        Err(error) => {
            let place = Place::function("flow");
            return item::unparsed(item, &error, codes::FLOW_NOT_ASYNC, &place, diagnostics);
        }
    };
    let kind = if parsed.args.args.part.is_present() { Kind::Part } else { Kind::Flow };
    let model = model::Flow::new(parsed, kind, &mut diagnostics);
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
