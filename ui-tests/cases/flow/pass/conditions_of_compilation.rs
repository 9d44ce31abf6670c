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

struct Receipt {
    paid: u32,
    #[cfg(target_os = "none")]
    by: Elsewhere,
}

#[flow]
async fn listed(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let all = [
        ctx.run(charge(order)),
        #[cfg(target_os = "none")]
        ctx.run(charge_by_wire(order)),
    ];
    let paid = try_join_all(all).await?.len() as u32;
    let receipt = Receipt {
        paid,
        #[cfg(target_os = "none")]
        by: ctx.suspend::<Elsewhere>("by-gate").await?,
    };
    let most = u32::max(
        receipt.paid,
        #[cfg(target_os = "none")]
        ctx.suspend::<Elsewhere>("most-gate").await?.paid,
        #[cfg(not(target_os = "none"))]
        ctx.run(charge(paid)).id("again").await?,
    );
    Ok(match most {
        #[cfg(target_os = "none")]
        0 => ctx.suspend::<Elsewhere>("none-gate").await?.paid,
        #[cfg(not(target_os = "none"))]
        n if n == ctx.run(charge(n)).id("asked").await? => n,
        n => n.max(
            #[cfg(target_os = "none")]
            ctx.suspend::<Elsewhere>("least-gate").await?.paid,
            #[cfg(not(target_os = "none"))]
            1,
        ),
    })
}

fn main() {
    let graph = format!("{:?}", <listed as loom::Flow>::DESCRIPTOR.graph);
    for there in ["again", "asked"] {
        assert!(graph.contains(there), "{graph}");
    }
    for not_there in ["charge_by_wire", "-gate", "label: \"0\""] {
        assert!(!graph.contains(not_there), "{not_there}: {graph}");
    }
    assert!(<listed as loom::Flow>::DESCRIPTOR.gates.is_empty());
}
