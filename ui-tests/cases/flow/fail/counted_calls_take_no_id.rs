//! What returns at once is counted, and takes no id.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<String> {
    let id = ctx.uuid().id("order");
    Ok(id.to_string())
}

fn main() {}
