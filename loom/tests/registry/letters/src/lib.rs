//! A crate of flows that no program names in code: only `loom::link!` brings it in.
//! Nothing of it is public.

use loom::prelude::*;

#[step(effects("mail"))]
async fn post(text: String) -> loom::Result<u32> {
    Ok(text.len() as u32)
}

#[flow(effects("mail"))]
async fn remind(ctx: Ctx, names: Vec<String>) -> loom::Result<()> {
    for name in names {
        ctx.run(post(name)).await?;
    }
    Ok(())
}
