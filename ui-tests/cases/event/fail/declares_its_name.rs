//! A log knows an event by a name that no refactoring touches.

use loom::prelude::*;

#[event]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct OrderPlaced {
    qty: u32,
}

#[flow]
async fn order(ctx: Ctx) -> loom::Result<()> {
    ctx.emit(&OrderPlaced { qty: 1 });
    Ok(())
}

fn main() {}
