//! Effect classes are text, written in place.

use loom::prelude::*;

const HTTP: &str = "http";

#[step(effects(HTTP))]
async fn fetch() -> loom::Result<()> {
    Ok(())
}

#[step(effects = "http")]
async fn get() -> loom::Result<()> {
    Ok(())
}

#[step(effects(http))]
async fn read() -> loom::Result<()> {
    Ok(())
}

fn main() {}
