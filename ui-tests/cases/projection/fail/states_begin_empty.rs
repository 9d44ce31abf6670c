//! What a state needs is the user's to derive; here `Default` is missing.

use loom::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[projection]
impl Totals {
    #[on(lifecycle)]
    fn changed(&mut self, _: loom::Status) {
        self.0 += 1;
    }
}

fn main() {}
