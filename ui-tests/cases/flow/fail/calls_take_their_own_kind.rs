//! A step is run, a flow is called, a part has a name, and a function is none of them.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn audit(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(charge(order)).await
}

async fn plain(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn runs_a_flow(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(audit(1)).await
}

#[flow]
async fn runs_a_function(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(plain(1)).await
}

#[flow]
async fn calls_a_step(ctx: Ctx) -> loom::Result<u32> {
    ctx.call(charge(1)).await
}

#[flow]
async fn takes_a_step_for_a_part(ctx: Ctx) -> loom::Result<u32> {
    ctx.part("charge", charge(1)).await
}

fn main() {}
