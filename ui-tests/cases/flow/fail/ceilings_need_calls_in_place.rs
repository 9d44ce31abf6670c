use loom::prelude::*;

#[step(effects("http"))]
async fn fetch() -> loom::Result<()> {
    Ok(())
}

#[flow(part, effects("http"))]
async fn pay(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await
}

#[flow(effects("http"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let (call, part) = (fetch(), pay());
    ctx.run(call).id("fetch").await?;
    ctx.part("pay", part).await
}

#[flow(effects("http"))]
async fn by_closures(ctx: Ctx) -> loom::Result<()> {
    let (get, settle) = (|| fetch(), || pay());
    ctx.run(get()).await?;
    ctx.part("pay", settle()).await
}

fn main() {}
