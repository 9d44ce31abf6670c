//! Two settings that say different things, or one that can never matter.

use loom::prelude::*;

#[step(pure, reads)]
async fn looks(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step(timeout = "10s", heartbeat = "1m")]
async fn beats(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step(retry(initial = "1m", max = "1s"))]
async fn pauses(order: u32) -> loom::Result<u32> {
    Ok(order)
}

#[step]
async fn borrows(orders: Vec<&str>, name: Option<&'static str>, way: std::borrow::Cow<'_, str>) -> loom::Result<u32> {
    Ok(0)
}

fn main() {}
