//! Spawned work is in no log.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    tokio::spawn(async {});
    std::thread::spawn(|| {});
    tokio::task::spawn_blocking(|| {});
    Ok(())
}

fn main() {}
