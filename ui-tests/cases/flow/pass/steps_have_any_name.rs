//! Steps and parts that go by the names of what a flow may not do, imports that it may have, and clones of the context.
#![deny(warnings)]

use loom::prelude::*;

mod time {
    use loom::prelude::*;

    #[step]
    pub async fn sleep(order: u32) -> loom::Result<u32> {
        Ok(order)
    }

    #[step]
    pub async fn timeout(order: u32) -> loom::Result<u32> {
        Ok(order)
    }
}

mod task {
    use loom::prelude::*;

    #[flow(part)]
    pub async fn spawn(ctx: Ctx) -> u32 {
        let _ = ctx.now();
        1
    }
}

use task::spawn;
use time::sleep;

#[step]
async fn interval(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn bare(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let slept = ctx.run(sleep(order)).await?;
    let spawned = ctx.part("spawn", spawn()).await;
    Ok(slept + spawned + ctx.run(interval(order)).await?)
}

#[flow]
async fn by_path(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let slept = ctx.run(time::sleep(order)).await? + ctx.run(crate::time::timeout(order)).await?;
    Ok(slept + ctx.part("spawn", task::spawn()).await)
}

#[flow]
async fn imported(ctx: Ctx, order: u32) -> loom::Result<u32> {
    use self::time::sleep;
    use std::time::Duration;
    #[allow(unused_imports)]
    use tokio::time::timeout;
    let c = ctx.clone();
    let picked = ctx.decide("now", move || {
        use std::time::SystemTime;
        let _ = (SystemTime::now(), c.now());
        1
    });
    let timeout = |order: u32| order;
    let _ = (Duration::from_secs(1), timeout(1), picked.await);
    let clone = ctx.clone();
    let named = clone.run(sleep(order)).id("named").await?;
    Ok(named + ctx.run(sleep(order)).await?)
}

fn main() {}
