use loom::prelude::*;

#[step(effects("http"))]
async fn fetch() -> loom::Result<()> {
    Ok(())
}

#[flow(part)]
async fn undeclared(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await
}

#[flow(part, effects("http", "disk.*"))]
async fn wider(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await
}

// A part holds its own steps to its own ceiling.
#[flow(part, effects("disk.*"))]
async fn wrong(ctx: Ctx) -> loom::Result<()> {
    ctx.run(fetch()).await
}

#[flow(effects("http", "disk.read"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.part("a", undeclared()).await?;
    ctx.part("b", wider()).await?;
    ctx.part("c", wrong()).await
}

// Without a ceiling nothing is held against one.
#[flow]
async fn free(ctx: Ctx) -> loom::Result<()> {
    ctx.part("a", undeclared()).await?;
    ctx.part("b", wider()).await
}

fn main() {}
