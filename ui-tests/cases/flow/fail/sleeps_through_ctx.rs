//! A timer of the process dies with the process.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    tokio::time::sleep(days(1)).await;
    std::thread::sleep(days(1));
    Ok(())
}

fn main() {}
