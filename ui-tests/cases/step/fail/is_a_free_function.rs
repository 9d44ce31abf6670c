//! A method cannot be a step.

use loom::prelude::*;

struct Shop;

impl Shop {
    #[step]
    async fn charge(&self) -> loom::Result<()> {
        Ok(())
    }
}

fn main() {}
