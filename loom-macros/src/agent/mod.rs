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
pub(crate) mod parse;

use proc_macro2::TokenStream;

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

/// The whole macro: token stream in, token stream out.
pub(crate) fn agent(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: Place::function("agent"),
        code: codes::FLOW_NOT_ASYNC,
        keys: parse::AgentArgs::KEYS,
        read: &|args, item, diagnostics| {
            let parsed = parse::parse(args, item, diagnostics)?;
            Ok(model::Agent::new(parsed, diagnostics))
        },
        name: |model| Some(&model.flow.item.sig.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
