//! `crate = …` reaches the runtime under another name.

extern crate loom as weft;

use weft::prelude::*;

#[derive(Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[failure(crate = ::weft)]
enum Oops {
    #[failure(engine)]
    Engine(EffectError),
}

#[step(crate = ::weft)]
async fn charge(order: u32) -> Result<u32, Oops> {
    Ok(order)
}

#[flow(part, crate = ::weft)]
async fn pay(ctx: Ctx, order: u32) -> Result<u32, Oops> {
    ctx.run(charge(order)).await
}

#[flow(crate = ::weft)]
async fn checkout(ctx: Ctx, order: u32) -> Result<u32, Oops> {
    ctx.part("pay", pay(order)).await
}

fn main() {
    let _ = checkout(1);
}
