//! A call deep in a `json!` is a call.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<String> {
    let paid = ctx.run(charge(order)).await?;
    let body = serde_json::json!({ "paid": paid, "more": [{ "again": ctx.run(charge(1)).await? }] });
    Ok(body.to_string())
}

fn main() {}
