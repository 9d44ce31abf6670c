//! A state is kept beside its log: what it lacks is said once, at the type.

use loom::prelude::*;

#[derive(Default)]
struct Totals(u64);

#[projection]
impl Totals {
    #[on(lifecycle)]
    fn changed(&mut self, _: loom::Status) {
        self.0 += 1;
    }
}

fn main() {}
