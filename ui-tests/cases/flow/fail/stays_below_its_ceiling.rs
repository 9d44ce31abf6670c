use loom::prelude::*;

mod shop {
    use loom::prelude::*;

    #[step(effects("payments.write"))]
    pub async fn charge() -> loom::Result<()> {
        Ok(())
    }
}

#[step(effects("http", "mail"))]
async fn notify() -> loom::Result<()> {
    Ok(())
}

// The step's classes are not all within the ceiling.
#[flow(name = "check-out", effects("http", "payments.read"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(notify()).await?;
    ctx.run(shop::charge()).id("deposit").await
}

// Nothing is within an empty one.
#[flow(effects())]
async fn silent(ctx: Ctx) -> loom::Result<()> {
    join!(ctx.run(notify())).0
}

// A prefix ends at a dot.
#[flow(effects("pay.*", "payments"))]
async fn prefixed(ctx: Ctx) -> loom::Result<()> {
    for _ in 0..3 {
        ctx.run(shop::charge()).await?;
    }
    Ok(())
}

fn main() {}
