//! The keys of `retry`, and what they take.

use loom::prelude::*;

#[step(retry(attempt = 3))]
async fn misspelt() -> loom::Result<()> {
    Ok(())
}

#[step(retry = 3)]
async fn a_number() -> loom::Result<()> {
    Ok(())
}

#[step(retry(attempts = "three"), retry(attempts = 3))]
async fn twice() -> loom::Result<()> {
    Ok(())
}

fn main() {}
