//! Steps within the ceiling of their flow, by name and by prefix; parts that call each other in a circle.
#![deny(warnings, missing_docs)]

use loom::prelude::*;

/// A step.
#[step(effects("payments.write", "payments.card.read"))]
pub async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

/// A step without effects.
#[step]
pub async fn count(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

/// A part that calls another.
#[flow(part, effects("payments.*"))]
pub async fn ping(ctx: Ctx, left: u32) -> loom::Result<u32> {
    ctx.run(charge(left)).await?;
    if left == 0 { Ok(0) } else { ctx.part("pong", pong(left - 1)).await }
}

/// The other, which calls the first.
#[flow(part, effects("payments.*"))]
pub async fn pong(ctx: Ctx, left: u32) -> loom::Result<u32> {
    ctx.part("again", ping(left)).await
}

/// A part that calls itself.
#[flow(part, effects())]
pub async fn tree(ctx: Ctx, depth: u32) -> loom::Result<u32> {
    let leaf = ctx.run(count(depth)).await?;
    if depth == 0 { Ok(leaf) } else { ctx.part("child", tree(depth - 1)).await }
}

/// The same classes as a prefix.
#[flow(effects("payments.*", "mail"))]
pub async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(1)).await?;
    ctx.part("tree", tree(2)).await?;
    ctx.part("pong", pong(2)).await
}

/// A helper gives a call of a step, and is held by what that step does; a method and an item of the body as well.
fn charge_double(amount: &u32) -> loom::StepCall<charge> {
    charge(amount * 2)
}

struct Shop;

impl Shop {
    fn charge(amount: u32) -> loom::StepCall<charge> {
        charge(amount)
    }
}

/// The helper's flow.
#[flow(effects("payments.*"))]
pub async fn helped(ctx: Ctx, amount: u32) -> loom::Result<u32> {
    fn charge_half(amount: u32) -> loom::StepCall<charge> {
        charge(amount / 2)
    }
    for _ in 0..2 {
        ctx.run(charge_double(&amount)).await?;
    }
    join_all([1, 2].map(|n| ctx.run(charge_half(n)).key(n))).await;
    ctx.run(Shop::charge(amount)).id("shop").await
}

/// A tool within the ceiling of its agent.
#[tool(effects("payments.read"))]
pub async fn look_up(/** Which. */ order: u32) -> loom::Result<u32> {
    Ok(order)
}

/// You answer.
#[agent(effects("payments.*"), tools = [look_up])]
pub async fn support(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(look_up(order)).await
}

/// No ceiling, no check.
#[flow]
pub async fn free(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(1)).await
}

fn main() {
    use loom::{Flow, Part};
    let ping = <ping as Part>::DESCRIPTOR;
    let pong = (ping.parts[0].it)();
    assert_eq!((pong.name, (pong.parts[0].it)().name), ("pong", "ping"));
    let reached: Vec<_> = checkout::DESCRIPTOR.all_parts().iter().map(|part| part.name).collect();
    assert_eq!(reached, ["tree", "pong", "ping"]);
    assert_eq!(checkout::DESCRIPTOR.effects, Some(&["payments.*", "mail"][..]));
    assert_eq!(pong.effects, Some(&["payments.*"][..]));
}
