//! What gives a call may be a function of a type, or of a trait: its path begins with the type.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow(part, effects())]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let _ = ctx.now();
    order
}

#[flow(effects())]
async fn audit(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let _ = ctx.now();
    Ok(order)
}

trait Shop {
    fn charged(order: u32) -> loom::StepCall<charge>;
    fn paid(order: u32) -> loom::PartCall<u32, pay>;
    fn audited(order: u32) -> loom::FlowCall<audit>;
}

struct Bakery<T>(T);

impl Shop for Bakery<u8> {
    fn charged(order: u32) -> loom::StepCall<charge> {
        charge(order)
    }

    fn paid(order: u32) -> loom::PartCall<u32, pay> {
        pay(order)
    }

    fn audited(order: u32) -> loom::FlowCall<audit> {
        audit(order)
    }
}

impl Bakery<u8> {
    fn baked(order: u32) -> loom::StepCall<charge> {
        charge(order)
    }
}

#[flow(effects())]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    ctx.run(<Bakery<u8> as Shop>::charged(order)).await?;
    ctx.run(<Bakery<u8>>::baked(order)).await?;
    ctx.part("pay", <Bakery<u8> as Shop>::paid(order)).await;
    ctx.call(<Bakery<u8> as Shop>::audited(order)).await
}

fn main() {
    let _ = Bakery(0_u8).0;
}
