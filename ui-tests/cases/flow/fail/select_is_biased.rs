//! A `select!` that picks at random is refused, whatever its path.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    let answer = tokio::select! {
        answer = ctx.suspend::<bool>("manager") => answer?,
        () = ctx.sleep(days(1)) => false,
    };
    Ok(answer)
}

fn main() {}
