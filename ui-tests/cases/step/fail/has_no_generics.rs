//! A step has neither type, lifetime nor const parameters, nor `impl Trait`.

use loom::prelude::*;

#[step]
async fn charge<'a, T: Send, const N: usize>(order: impl Into<String>) -> loom::Result<()> {
    let _: String = order.into();
    Ok(())
}

fn main() {}
