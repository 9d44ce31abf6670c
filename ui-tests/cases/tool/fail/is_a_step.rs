//! The rules of a step hold, in the words of a tool; agents that list it still compile.

use loom::prelude::*;

#[tool(redas)]
fn find_order(number: &str, ctx: Ctx) -> String {
    let _ = ctx;
    number.to_owned()
}

/// Look up nothing.
#[tool(name = "Nothing")]
async fn nothing() -> loom::Result<()> {
    Ok(())
}

/// You answer.
#[agent(tools = [find_order, nothing])]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

#[tool]
struct NoFunction;

fn main() {}
