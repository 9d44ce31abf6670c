//! A mistake in a signature is one error, and none where the step or flow is called.

use loom::prelude::*;

#[step]
async fn sum((one, other): (u32, u32), more: u32) -> loom::Result<u32> {
    Ok(one + other + more)
}

#[step]
async fn any<T>(order: T) -> loom::Result<u32> {
    let _ = order;
    Ok(1)
}

#[step]
async fn sized<T>(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step]
async fn named<'a>(name: &'a str) -> loom::Result<String> {
    Ok(name.to_owned())
}

#[step]
async fn tested(#[cfg(test)] order: u32, name: String) -> loom::Result<String> {
    Ok(name)
}

#[flow]
async fn lent(ctx: &Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

#[flow]
async fn doubled(ctx: Ctx, other: Ctx) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(1)
}

#[flow]
async fn built(ctx: Ctx, #[cfg(test)] order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(1)
}

#[flow]
async fn literal(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(5).await
}

#[flow]
async fn checkout(ctx: Ctx, order: (u32, u32)) -> loom::Result<u32> {
    ctx.run(sum(order, 3)).await?;
    ctx.run(any(3)).await?;
    ctx.run(sized::<u32>(3)).await?;
    ctx.run(named("bread")).await?;
    ctx.call(lent(3)).await
}

fn main() {}
