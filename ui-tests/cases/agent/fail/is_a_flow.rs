//! The rules of a flow hold, in the words of an agent.

use loom::prelude::*;

#[step]
async fn ask(question: String) -> loom::Result<String> {
    Ok(question)
}

/// You answer customers.
#[agent]
async fn support(ctx: Ctx, question: &str, tone: String) -> loom::Result<String> {
    let _ = (std::time::SystemTime::now(), tone);
    ctx.run(ask(question.to_owned())).await?;
    ctx.run(ask(question.to_owned())).await
}

/// You answer nobody.
#[agent]
fn Nobody() {}

/// You are no function.
#[agent]
struct NoFunction;

fn main() {}
