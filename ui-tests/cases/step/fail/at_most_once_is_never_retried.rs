//! An in-doubt step is never retried, and cannot be without effect.

use loom::prelude::*;

#[step(at_most_once, retry(attempts = 5))]
async fn charge() -> loom::Result<()> {
    Ok(())
}

#[step(at_most_once, pure)]
async fn add() -> loom::Result<()> {
    Ok(())
}

fn main() {}
