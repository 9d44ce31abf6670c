//! No second argument, no result, no missing state.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[step]
async fn charge(amount: u32) -> loom::Result<u32> {
    Ok(amount)
}

#[projection]
impl Totals {
    #[on(Placed)]
    fn placed(&mut self, _: &Placed, rate: u64) -> u64 {
        self.0 * rate
    }

    #[on(step = charge)]
    fn charged(&self, outcome: loom::Result<u32>) {
        let _ = outcome;
    }

    #[on(lifecycle)]
    fn changed() {}
}

fn main() {}
