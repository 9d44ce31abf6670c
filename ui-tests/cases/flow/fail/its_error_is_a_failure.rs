//! The error of a flow is its failure channel.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> Result<(), String> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
