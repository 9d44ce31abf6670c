//! Each function once, and by the grammar.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection]
impl Totals {
    fn forgotten(&mut self, _: &Placed) {}

    #[on]
    fn empty(&mut self, _: &Placed) {}

    #[on(stpe = charge)]
    fn mistyped(&mut self, _: &Placed) {}

    #[on(Placed)]
    #[on(lifecycle)]
    fn both(&mut self, _: &Placed) {}

    #[on(steps = charge)]
    fn plural(&mut self, _: &Placed) {}

    #[on(lifecicle)]
    #[on(outcome = charge)]
    #[on(Placed, Placed)]
    fn neither(&mut self, _: &Placed) {}
}

fn main() {}
