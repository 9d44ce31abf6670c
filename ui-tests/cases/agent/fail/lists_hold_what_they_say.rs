//! A path that leads to no tool, skill or policy is an error at that path.

use loom::prelude::*;

#[step]
async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

struct Refunds;

const CAREFUL: Policy = Policy::new();

/// You answer customers.
#[agent(tools = [charge, nowhere], skills = [Refunds], policies = [CAREFUL])]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

/// You are held to what is no policy.
#[agent(policies = [Refunds])]
async fn other(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
