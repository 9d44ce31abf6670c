//! `at_most_once` with `reads`, and modes that do not exist.

use loom::prelude::*;

#[step(at_most_once, reads)]
async fn look() -> loom::Result<()> {
    Ok(())
}

#[step(exactly_once)]
async fn charge() -> loom::Result<()> {
    Ok(())
}

#[step(at_least_once)]
async fn ship() -> loom::Result<()> {
    Ok(())
}

fn main() {}
