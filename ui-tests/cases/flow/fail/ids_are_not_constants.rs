//! An id is written in place: a constant, a variable and a format are none.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

const ID: &str = "deposit";

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).id(ID).await?;
    let id = "rest";
    ctx.run(charge(order)).id(id).await
}

fn main() {}
