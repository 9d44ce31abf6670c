//! The output of a flow is kept in its log.

use loom::prelude::*;

#[derive(Clone)]
struct Receipt;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<Receipt> {
    let _ = ctx.now();
    Ok(Receipt)
}

fn main() {}
