//! Bad durations: fractions, spaces, long units, negative ones, too much.

use loom::prelude::*;

#[step(timeout = "1.5s")]
async fn fraction() -> loom::Result<()> {
    Ok(())
}

#[step(timeout = "10 s", heartbeat = "10sec")]
async fn spaced() -> loom::Result<()> {
    Ok(())
}

#[step(retry(initial = "-1s", max = "99999999999999999d"))]
async fn negative() -> loom::Result<()> {
    Ok(())
}

fn main() {}
