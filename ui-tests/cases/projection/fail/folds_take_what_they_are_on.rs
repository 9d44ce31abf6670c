//! A wrong type is reported at the fold, a path to nothing at the path.

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
    fn placed(&mut self, _: &Totals) {}

    #[on(step = charge)]
    fn charged(&mut self, outcome: u32) {
        self.0 += u64::from(outcome);
    }

    #[on(charge)]
    fn charged_too(&mut self, _: &u32) {}
}

fn main() {}
