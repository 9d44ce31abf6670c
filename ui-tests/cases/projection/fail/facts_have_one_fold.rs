//! Of two, nobody could tell which comes first.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection]
impl Totals {
    #[on(Placed)]
    fn placed(&mut self, _: &Placed) {
        self.0 += 1;
    }

    #[on(Placed)]
    fn placed_again(&mut self, _: &Placed) {
        self.0 *= 2;
    }
}

fn main() {}
