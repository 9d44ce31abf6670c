//! Upcasters bring the input that a log holds to the version of today; nothing else of a flow has versions.

use loom::prelude::*;
use serde_json::Value;

fn same(old: Value) -> Value {
    old
}

#[flow(version = 2)]
async fn no_upcaster(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.sleep(seconds(1)).await;
    Ok(n)
}

#[flow(version = 4, upcast(1 => same, 3 => same))]
async fn gap(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.sleep(seconds(1)).await;
    Ok(n)
}

#[flow(version = 0)]
async fn from_nothing(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.sleep(seconds(1)).await;
    Ok(n)
}

#[flow(version = 2, upcast(1 => same))]
async fn no_input(ctx: Ctx) -> loom::Result<()> {
    ctx.sleep(seconds(1)).await;
    Ok(())
}

#[flow(part, version = 2, upcast(1 => same))]
async fn a_part(ctx: Ctx, n: u32) -> u32 {
    ctx.sleep(seconds(1)).await;
    n
}

#[flow(version = 2, upcast = same)]
async fn not_a_list(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.sleep(seconds(1)).await;
    Ok(n)
}

#[flow(version = 2, migrate = same)]
async fn another_key(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.sleep(seconds(1)).await;
    Ok(n)
}

fn main() {}
