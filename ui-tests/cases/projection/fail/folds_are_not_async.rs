//! A fold waits for nothing.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection]
impl Totals {
    #[on(Placed)]
    async fn placed(&mut self, _: &Placed) {
        self.0 += 1;
    }
}

async fn read(app: loom::App, id: loom::ExecutionId) -> u64 {
    app.project::<Totals>(&id).await.unwrap().0
}

fn main() {
    let _ = read;
}
