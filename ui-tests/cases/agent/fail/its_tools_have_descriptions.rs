//! A tool without a description is one error, at the tool: the agent that lists it is told of nothing.

use loom::prelude::*;

#[tool]
async fn find_order(number: String) -> loom::Result<String> {
    Ok(number)
}

/// You answer customers.
#[agent(tools = [find_order])]
async fn support(ctx: Ctx, question: String) -> loom::Result<String> {
    ctx.run(find_order(question)).await
}

fn main() {}
