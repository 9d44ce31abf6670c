//! The `select!` of `futures` picks at random as well.

use loom::prelude::*;

mod futures {
    pub use tokio::select;
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<bool> {
    let answer = loop {
        futures::select! {
            answer = ctx.suspend::<bool>("manager") => break answer?,
            () = ctx.sleep(days(1)) => {}
        }
    };
    Ok(answer)
}

fn main() {}
