//! What is no Rust in a block is told once, and who asks for the state still compiles.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[projection]
impl Totals {
    #[on(lifecycle)]
    fn changed(&mut self, _: loom::Status) {
        self.0 += ;
    }
}

async fn totals(app: loom::App, id: loom::ExecutionId) -> Option<Totals> {
    app.project::<Totals>(&id).await.ok()
}

fn main() {}
