//! A step fails with a `Failure`: the engine must be able to say what it has to report.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> Result<u32, String> {
    Ok(order)
}

fn main() {}
