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
mod named;
pub(crate) mod parse;

use proc_macro2::TokenStream;

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

use model::Kind;

/// The whole macro: token stream in, token stream out.
pub(crate) fn flow(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: Place::function("flow"),
        code: codes::FLOW_NOT_ASYNC,
        keys: parse::FlowArgs::KEYS,
        read: &|args, item, diagnostics| {
            let parsed = parse::parse(args, item, diagnostics)?;
            let kind = if parsed.args.args.part.is_present() { Kind::Part } else { Kind::Flow };
            Ok(model::Flow::new(parsed, kind, diagnostics))
        },
        name: |model| Some(&model.item.sig.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
