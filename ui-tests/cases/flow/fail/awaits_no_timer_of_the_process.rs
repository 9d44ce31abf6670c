//! What the file imports, and what helpers give, no macro sees; their types do.

use loom::prelude::*;
use tokio::spawn;
use tokio::time::{sleep, timeout};

fn nap() -> tokio::time::Sleep {
    sleep(millis(1))
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    sleep(days(1)).await;
    nap().await;
    timeout(seconds(1), ctx.sleep(days(1))).await.ok();
    let task = spawn(async {});
    task.await.ok();
    Ok(())
}

fn main() {}
