//! A fold is no method of a trait: that is said once.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection]
impl loom::Projection for Totals {
    #[on(Placed)]
    fn fold(&mut self, _: &Placed) {
        self.0 += 1;
    }
}

fn main() {
    let totals: Totals = loom::Fold::of(&[]).unwrap_or_default();
    let _ = totals;
}
