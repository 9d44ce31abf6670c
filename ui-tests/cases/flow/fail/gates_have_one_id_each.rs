//! Two questions of one name are two answers for one id.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    let first = ctx.suspend::<bool>("manager").await?;
    let second = ctx.suspend::<bool>("manager").await?;
    Ok(first && second)
}

fn main() {}
