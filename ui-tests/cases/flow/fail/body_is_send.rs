//! A body that holds something which is not `Send` across an await is reported at the flow's name.

use loom::prelude::*;
use std::rc::Rc;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let shared = Rc::new(1);
    ctx.sleep(days(1)).await;
    drop(shared);
    Ok(())
}

fn main() {}
