use loom::prelude::*;

#[step(effects("http"))]
fn fetch() -> loom::Result<()> {
    Ok(())
}

#[flow(part, effects("http"))]
fn pay(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await
}

#[flow(effects("mail"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await?;
    ctx.part("pay", pay()).await
}

fn main() {}
