//! A step takes no references and no `self`.

use loom::prelude::*;

#[step]
async fn charge(order: &str, lines: &[u32]) -> loom::Result<()> {
    let _ = (order, lines);
    Ok(())
}

fn main() {}
