//! A duration is a whole number and a unit, wherever one is taken.

use loom::prelude::*;

#[step(timeout = "10", heartbeat = "1.5s", retry(initial = "soon", max = "1 week"))]
async fn charge() -> loom::Result<()> {
    Ok(())
}

fn main() {}
