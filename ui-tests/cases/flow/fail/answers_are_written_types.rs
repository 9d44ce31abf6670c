//! The type of an answer is written where the gate is, for its schema.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    let answer: bool = ctx.suspend("manager").await?;
    let signed = ctx.suspend::<_>("signature").await?;
    Ok(answer && signed)
}

fn main() {}
