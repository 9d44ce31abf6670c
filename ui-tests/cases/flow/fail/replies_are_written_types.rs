//! Whoever asks on a topic must be able to know what comes back: the type is written, and has a schema.

use loom::prelude::*;

#[derive(serde::Serialize)]
struct Receipt {
    number: u32,
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let paid = ctx.receive::<u32>("payments").update().await;
    paid.accept(&1);
    Ok(1)
}

#[flow]
async fn refund(ctx: Ctx) -> loom::Result<u32> {
    let asked = ctx.receive::<u32>("refunds").update::<Receipt>().await;
    asked.accept(&Receipt { number: 1 });
    Ok(1)
}

fn main() {}
