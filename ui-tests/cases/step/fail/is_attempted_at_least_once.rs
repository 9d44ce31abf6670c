//! `attempts` and `factor` are whole numbers from 1.

use loom::prelude::*;

#[step(retry(attempts = 0))]
async fn never() -> loom::Result<()> {
    Ok(())
}

#[step(retry(attempts = 99999999999, factor = 0))]
async fn for_ever() -> loom::Result<()> {
    Ok(())
}

fn main() {}
