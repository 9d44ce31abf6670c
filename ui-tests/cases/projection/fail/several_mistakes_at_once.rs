//! Every mistake is reported, and those who ask for the state still compile.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection(version = 0, name = "The Totals", versoin = 2)]
impl Totals {
    #[on(Placed)]
    async fn placed(&self, _: &Placed) -> u64 {
        std::fs::read("rate.txt").map_or(0, |bytes| bytes.len() as u64)
    }

    #[on(lifecycle)]
    fn changed(&mut self, _: bool) {}

    fn helper(&self) -> u64 {
        self.0
    }
}

async fn read(app: loom::App, id: loom::ExecutionId) -> u64 {
    app.project::<Totals>(&id).await.unwrap().helper()
}

fn main() {
    let _ = read;
}
