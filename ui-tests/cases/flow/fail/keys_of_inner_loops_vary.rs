//! The key of an inner loop replaces the inner index: the outer variable is the same in all its rounds.

use loom::prelude::*;

#[step]
async fn ship(line: u32) -> loom::Result<u32> {
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, parcels: Vec<(u32, Vec<u32>)>) -> loom::Result<()> {
    for (parcel, lines) in parcels {
        for line in lines {
            ctx.run(ship(line)).key(parcel).await?;
        }
    }
    Ok(())
}

fn main() {}
