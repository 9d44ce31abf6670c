//! A set of tasks spawns, and so does whoever asks for the runtime's handle.

use loom::prelude::*;
use tokio::task::JoinSet;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    let mut tasks = JoinSet::new();
    tasks.spawn(async {});
    Ok(())
}

#[flow]
async fn by_the_handle(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    tokio::runtime::Handle::current().spawn(async {});
    Ok(())
}

fn main() {}
