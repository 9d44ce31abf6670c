//! `#[test]`: an `async fn` over a `Test` becomes a test, whose flows run in virtual time and are put through what its
//! arguments say. It never decides how: that is `loom::testing`.
//!
//! ```text
//! #[loom::test(crash = "every-event")]
//! async fn an_order_survives_every_crash(mut test: Test) {
//!     test.run(checkout(order())).await?;
//! }
//! ```
//!
//! leaves a test, and the body as a function that can be run as often as it takes:
//!
//! ```text
//! #[test]
//! fn an_order_survives_every_crash() {
//!     async fn __loom_body(mut test: Test) -> Result<()> { …  Ok(()) }
//!     loom::testing::__v1::run(&Plan { crash: true, … }, |test| … __loom_body(test) …);
//! }
//! ```

mod check;
mod expand;
mod model;
pub(crate) mod parse;

use proc_macro2::TokenStream;

use crate::codes;
use crate::entry::Attribute;
use crate::item::Place;

const PLACE: Place = Place {
    attribute: "test",
    goes_on: "an `async fn`",
    example: "#[loom::test] async fn name(test: loom::testing::Test) { .. }",
};

/// The whole macro: token stream in, token stream out.
pub(crate) fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    Attribute {
        place: PLACE,
        code: codes::TEST_ITEM,
        keys: parse::TestArgs::KEYS,
        read: &|args, item, diagnostics| Ok(model::Test::new(parse::parse(args, item, diagnostics)?)),
        name: |model| Some(&model.item.sig.ident),
        check: check::check,
        expand: expand::expand,
        stub: expand::stub,
    }
    .apply(args, item)
}
