//! A gate is listed with its name and schema before it is ever reached.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx, name: String) -> loom::Result<bool> {
    let approved: bool = ctx.suspend("manager").await?;
    let signed = ctx.suspend::<bool>(name.leak()).await?;
    ctx.suspend::<bool>("The Boss").await?;
    Ok(approved && signed)
}

fn main() {}
