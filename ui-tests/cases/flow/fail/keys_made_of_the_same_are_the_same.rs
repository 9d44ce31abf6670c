//! Whatever is made of constants, of the input and of what stands outside of the loop is the same in every round.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, order: (String, Vec<u32>)) -> loom::Result<()> {
    let (name, lines) = order;
    for line in &lines {
        let label = format!("{name}-shipped");
        ctx.run(ship(*line)).key(&label).await?;
        ctx.run(ship(*line)).id("again").key(name.to_string()).await?;
    }
    Ok(())
}

fn main() {}
