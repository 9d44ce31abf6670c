//! A macro sees the function and nothing around it: without `self` or `Self` the compiler alone can say that a step stands
//! in an `impl`, and says it of what the step would have become.

use loom::prelude::*;

struct Shop;

impl Shop {
    #[step]
    async fn charge(order: u32) -> loom::Result<u32> {
        Ok(order)
    }
}

fn main() {}
