use loom::prelude::*;

#[step(effects("payments.*", "*"))]
async fn charge() -> loom::Result<()> {
    Ok(())
}

#[flow(effects("*", "Http", "payments*", ".*", "mail.*"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(charge()).await
}

fn main() {}
