//! The input of a flow starts it from outside: it reads as JSON and has a schema.

use loom::prelude::*;

struct Order;

#[flow]
async fn checkout(ctx: Ctx, order: Order) -> loom::Result<()> {
    let _ = (ctx.now(), order);
    Ok(())
}

fn main() {}
