//! A bare number has no unit, and an expression is read by nobody.

use loom::prelude::*;

#[step(timeout = 10)]
async fn number() -> loom::Result<()> {
    Ok(())
}

#[step(timeout = seconds(10))]
async fn expression() -> loom::Result<()> {
    Ok(())
}

fn main() {}
