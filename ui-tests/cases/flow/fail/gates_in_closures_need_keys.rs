//! A question asked by a closure needs a key, like a step.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx, people: Vec<String>) -> loom::Result<()> {
    join_all(people.iter().map(|_| ctx.suspend::<bool>("signature"))).await;
    join_all(people.iter().map(|_| ctx.sleep(days(1)))).await;
    Ok(())
}

fn main() {}
