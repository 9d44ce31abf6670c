//! A gate is listed by its name before it is reached.

use loom::prelude::*;

const GATE: &str = "manager";

#[flow]
async fn checkout(ctx: Ctx, people: Vec<String>) -> loom::Result<()> {
    ctx.suspend::<bool>(GATE).await?;
    for person in &people {
        ctx.suspend::<bool>(person.clone().leak()).await?;
    }
    Ok(())
}

fn main() {}
