//! A method cannot be a flow.

use loom::prelude::*;

struct Shop;

impl Shop {
    #[flow]
    async fn checkout(&self, ctx: Ctx) -> loom::Result<()> {
        let _ = ctx.now();
        Ok(())
    }
}

fn main() {}
