//! Clocks, awaited steps and moved contexts hide nowhere.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<String> {
    let times = vec![std::time::SystemTime::now()];
    let body = serde_json::json!({ "at": [std::time::Instant::now().elapsed().as_secs()] });
    join!(ctx.run(charge(order).await)).0?;
    println!("{:?} {body}", times);
    Ok(format!("{}", std::env::args().count()))
}

fn main() {}
