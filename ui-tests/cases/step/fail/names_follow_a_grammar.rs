//! Names of steps and effect classes reach a log: their grammar keeps ids unforgeable.

use loom::prelude::*;

#[step(name = "charge#1", effects("Payments Write"))]
async fn charge() -> loom::Result<()> {
    Ok(())
}

#[step]
#[allow(non_snake_case)]
async fn Ship() -> loom::Result<()> {
    Ok(())
}

fn main() {}
