//! What a `#[cfg(..)]` leaves out is not there: no call of it has an id, a gate, a part or a node of the graph.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    #[cfg(target_os = "none")]
    let paid = ctx.run(charge_by_wire(order)).await?;
    #[cfg(target_os = "none")]
    ctx.part("elsewhere", elsewhere(order)).await?;
    #[cfg(target_os = "none")]
    {
        let told = ctx.receive::<Elsewhere>("told").update::<Elsewhere>().await;
        told.accept(&Elsewhere);
    }
    let paid = ctx.run(charge(order)).await?;
    match paid {
        #[cfg(target_os = "none")]
        0 => return ctx.suspend::<Elsewhere>("manager").await?.paid,
        _ => {}
    }
    Ok(paid)
}

#[flow]
async fn either(ctx: Ctx, order: u32) -> loom::Result<u32> {
    #[cfg(unix)]
    ctx.run(charge(order)).await?;
    #[cfg(not(unix))]
    ctx.run(charge(order)).await?;
    Ok(order)
}

fn main() {}
