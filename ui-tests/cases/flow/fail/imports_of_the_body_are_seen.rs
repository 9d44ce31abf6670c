//! A name that the body imports is what it is, whatever it is called.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    use std::time::{self, SystemTime as Wall};
    use tokio::task::spawn;
    use tokio::time::sleep;
    let _ = (ctx.now(), Wall::now(), time::Instant::now());
    sleep(days(1)).await;
    spawn(async {});
    {
        use tokio::time::sleep_until as nap;
        nap(tokio::time::Instant::now()).await;
    }
    Ok(())
}

fn main() {}
