//! Unknown keys get a suggestion, repeated ones are refused, values have their types.

use loom::prelude::*;

#[step(timeuot = "10s")]
async fn misspelt() -> loom::Result<()> {
    Ok(())
}

#[step(timeout = "10s", timeout = "20s")]
async fn repeated() -> loom::Result<()> {
    Ok(())
}

#[step(pure = 3, retry(tries = 5), effects(http), timeout = 10)]
async fn mistyped() -> loom::Result<()> {
    Ok(())
}

fn main() {}
