use loom::prelude::*;

#[flow(effects("payments.write"))]
async fn refund(ctx: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow]
async fn anything(ctx: Ctx) -> loom::Result<()> {
    Ok(())
}

#[flow(effects("mail.*"))]
async fn support(ctx: Ctx) -> loom::Result<()> {
    ctx.call(refund()).await?;
    ctx.spawn(anything()).await;
    Ok(())
}

fn main() {}
