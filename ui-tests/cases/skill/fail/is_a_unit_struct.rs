//! A skill is its description and its file.

use loom::prelude::*;

/// About money.
#[skill(file = "refunds.md")]
struct Refunds {
    limit: u32,
}

/// About anything.
#[skill(file = "refunds.md")]
struct Anything<T>(T);

/// About nothing.
#[skill(file = "refunds.md")]
fn nothing() {}

/// You answer.
#[agent(skills = [Refunds])]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
