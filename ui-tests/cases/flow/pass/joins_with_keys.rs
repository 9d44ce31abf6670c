//! Durable futures go into every combinator as they are.
#![deny(warnings)]

use futures_util::FutureExt as _;
use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, orders: Vec<Vec<u32>>) -> loom::Result<u32> {
    for lines in &orders {
        join_all(lines.iter().map(|line| ctx.run(ship(*line)).key(line))).await;
        try_join_all(lines.iter().map(|line| {
            let ctx = ctx.clone();
            async move { ctx.run(ship(*line)).id("wrapped").key(line).await }
        }))
        .await?;
    }
    let (one, two) = try_join!(ctx.run(ship(1)).id("one"), async {
        ctx.sleep(days(1)).await;
        ctx.run(ship(2)).id("two").await
    })?;
    let picked = loom::select! {
        three = ctx.run(ship(3)).id("three") => three?,
        () = ctx.sleep(hours(1)).id("limit"), if one > 0 => { 0 }
    };
    let shared = ctx.run(ship(4)).id("four").boxed();
    Ok(one + two + picked + shared.await?)
}

fn main() {}
