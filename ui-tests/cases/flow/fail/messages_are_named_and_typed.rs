//! A message has a topic and a type, a change a name, and all are written in place.

use loom::prelude::*;

const NAME: &str = "payments";

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let _ = ctx.receive::<u32>(NAME).await;
    let paid: u32 = ctx.receive("paid").await;
    let _ = ctx.receive::<u32>("Refunds").await;
    if ctx.changed(NAME) { Ok(paid) } else { Ok(0) }
}

fn main() {}
