//! Not every value is an event.

use loom::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[flow]
async fn order(ctx: Ctx) -> loom::Result<()> {
    ctx.emit(&Placed);
    Ok(())
}

fn main() {}
