//! No turns, no tokens, no money: no agent.

use loom::prelude::*;

/// You answer customers.
#[agent(max_turns = 0, budget(tokens = 0, usd = 0.0))]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

/// You cost next to nothing.
#[agent(budget(usd = 0.0000001))]
async fn cheap(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
