//! An agent's input has versions, as a flow's, and their upcasters lead up to the one of today.

use loom::prelude::*;

fn from_v1(old: u32) -> String {
    old.to_string()
}

/// You answer.
#[agent(version = 3, upcast(1 => from_v1))]
async fn support(ctx: Ctx, number: String) -> loom::Result<String> {
    let _ = ctx.now();
    Ok(number)
}

/// You wait.
#[agent(version = 0)]
async fn idle(ctx: Ctx, number: String) -> loom::Result<String> {
    let _ = ctx.now();
    Ok(number)
}

/// You do nothing.
#[agent(version = 2)]
async fn alone(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    Ok(())
}

fn main() {}
