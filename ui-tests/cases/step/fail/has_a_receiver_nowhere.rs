//! A method by value, and one of a trait.

use loom::prelude::*;

trait Shop {
    #[step]
    async fn charge(self) -> loom::Result<()>;
}

fn main() {}
