//! There is no loop yet that could stand in for it; those who start the agent still compile.

use loom::prelude::*;

/// You answer customers.
#[agent(model = "small", max_turns = 8)]
pub async fn support(ctx: Ctx, question: String) -> loom::Result<String>;

async fn start(app: loom::App) -> String {
    let started = app.start(support("why?".to_owned())).await.unwrap();
    let handle: loom::Handle<support> = app.handle(started.id());
    handle.result().await.unwrap()
}

fn main() {
    let _ = start;
}
